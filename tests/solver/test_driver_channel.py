"""Frames to Ray's driver: no behaviour of the peer makes a channel wait forever."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from solver.pool.driver_channel import FRAME_MAX, Channel, Frame, FrameKind

pytestmark = pytest.mark.timeout(30)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    sender, receiver = socket.socketpair()
    with sender, receiver:
        yield sender, receiver


@pytest.mark.parametrize("size", [0, 1, 20_000, 3_000_000])
def test_frames_arrive_as_they_were_sent(ends, size):
    sender, receiver = Channel(ends[0]), Channel(ends[1], 10.0)
    frames = [Frame(FrameKind.SEARCH, 2**64 - 1, b"x" * size), Frame(FrameKind.STOP, 0, b"")]
    thread = threading.Thread(target=lambda: [sender.send(*frame) for frame in frames])
    thread.start()
    assert [receiver.receive(), receiver.receive()] == frames
    thread.join()


def test_frames_of_several_threads_stay_whole(ends):
    sender, receiver = Channel(ends[0]), Channel(ends[1])
    payloads = [bytes([n]) * 50_000 for n in range(8)]
    with ThreadPoolExecutor(8) as threads:
        sent = [threads.submit(sender.send, FrameKind.BATCH, n, payload) for n, payload in enumerate(payloads)]
        received = [receiver.receive() for _ in payloads]
        assert all(each.result() for each in sent)
    assert sorted(frame for frame in received if frame) == [
        (FrameKind.BATCH, n, each) for n, each in enumerate(payloads)
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b"",  # no data
        struct.pack("!i", 100) + b"x" * 99,  # an incomplete frame
        struct.pack("!i", FRAME_MAX + 1),
        struct.pack("!iQ", -1, 2**63),
        struct.pack("!i", -7),
        struct.pack("!i", 3) + b"abc",  # too short for a header
        struct.pack("!i", 9) + bytes([99, *[0] * 8]),  # an unknown kind
    ],
)
def test_invalid_frames_close_the_connection(ends, raw):
    channel = Channel(ends[0], 0.05)
    ends[1].sendall(raw)
    assert channel.receive() is None


def test_a_peer_that_does_not_read_closes_the_connection(ends):
    assert not Channel(ends[0], 0.05).send(FrameKind.BATCH, 1, b"x" * 10_000_000)


def test_a_peer_that_closes_its_end_closes_the_connection(ends):
    channel = Channel(ends[0])
    ends[1].sendall(struct.pack("!i", 100) + b"half")
    ends[1].close()
    assert channel.receive() is None
    assert not channel.send(FrameKind.STOP)


def test_closing_a_channel_wakes_its_receiver(ends):
    channel, receiver = Channel(ends[0]), Channel(ends[1])
    waiting = threading.Event()

    def receive() -> Frame | None:
        waiting.set()
        return channel.receive()

    with ThreadPoolExecutor(1) as threads:
        received = threads.submit(receive)
        waiting.wait()
        channel.close()
        assert received.result(10) is None
    assert receiver.receive() is None
    assert not channel.send(FrameKind.STOP)
    channel.close()
