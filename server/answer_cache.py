"""The cache of reproducible answers: a new search would repeat them byte for byte, except for the elapsed time."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b

from google.protobuf.message import Message

from server.answer_cache_file import CacheFile

# Approximate memory of an entry beside its message, in bytes.
OVERHEAD = 300


class Cache:
    """An LRU cache of at most `bytes_max` bytes.

    A key is a hash of the caller's identity and of everything else that the answer depends on. With a `file`, answers
    survive a restart of the server.
    """

    def __init__(self, bytes_max: int, file: CacheFile | None = None) -> None:
        self._bytes_max = bytes_max
        self._is_enabled = bytes_max > 0
        self._bytes = 0
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()
        self._file = file

    def load(self) -> None:
        """Load the answers of the file. Call it before the other methods, on any thread."""
        if self._file is not None:
            for key, raw in self._file.open(self._bytes_max, OVERHEAD):
                self._answers[key] = raw
                self._bytes += len(raw) + OVERHEAD

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def get(self, key: bytes, kind: type[Message]) -> Message | None:
        raw = self._answers.get(key)
        if raw is None:
            return None
        self._answers.move_to_end(key)
        return kind.FromString(raw)

    def put(self, key: bytes, answer: Message) -> None:
        if not self._is_enabled or key in self._answers:
            return
        raw = answer.SerializeToString()
        if len(raw) + OVERHEAD > self._bytes_max:
            return
        self._answers[key] = raw
        self._bytes += len(raw) + OVERHEAD
        if self._file is not None:
            self._file.put(key, raw)
        while self._bytes > self._bytes_max:
            old, dropped = self._answers.popitem(last=False)
            self._bytes -= len(dropped) + OVERHEAD
            if self._file is not None:
                self._file.put(old, None)

    def __len__(self) -> int:
        return len(self._answers)


def key_of(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=16).digest()
