"""QR codes of links, which another device's camera reads, and sounds."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from board import choose_at_random, set_up, settle, wait, wait_for_turn

Open = Callable[..., Any]
Code = list[list[bool]]
# Codewords of data and of error correction, by version, at level L.
ROOM = {1: (19, 7), 2: (34, 10), 3: (55, 15), 4: (80, 20), 5: (108, 26)}


# --- a reader of QR codes, written from the standard and not from the page's writer ---


def modules(path: str) -> Code:
    dark = {(int(x) - 4, int(y) - 4) for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", path)}
    size = max(max(place) for place in dark) + 1
    return [[(x, y) in dark for x in range(size)] for y in range(size)]


def is_function(x: int, y: int, size: int) -> bool:
    """Whether a module belongs to a pattern or to the format, and not to the data."""
    in_corner = (x < 9 and y < 9) or (x < 9 and y >= size - 8) or (x >= size - 8 and y < 9)
    in_alignment = size > 21 and size - 9 <= x < size - 4 and size - 9 <= y < size - 4
    return in_corner or in_alignment or x == 6 or y == 6


def mask_of(code: Code) -> int:
    """Read the format beside the finder at the top left, which holds the level and the mask; check both copies."""
    size = len(code)
    first = [code[8][x] for x in (0, 1, 2, 3, 4, 5, 7, 8)] + [code[y][8] for y in (7, 5, 4, 3, 2, 1, 0)]
    second = [code[size - 1 - number][8] for number in range(7)] + [code[8][size - 8 + number] for number in range(8)]
    assert first == second
    number = sum(bit << (14 - at) for at, bit in enumerate(first)) ^ 0b101010000010010
    rest = number
    for bit in range(14, 9, -1):
        if rest >> bit & 1:
            rest ^= 0b10100110111 << (bit - 10)
    assert rest == 0
    assert number >> 13 == 0b01  # level L
    return number >> 10 & 7


def is_masked(mask: int, i: int, j: int) -> bool:
    """Whether the mask turns over the module in row i and column j."""
    return [
        (i + j) % 2,
        i % 2,
        j % 3,
        (i + j) % 3,
        (i // 2 + j // 3) % 2,
        i * j % 2 + i * j % 3,
        (i * j % 2 + i * j % 3) % 2,
        ((i + j) % 2 + i * j % 3) % 2,
    ][mask] == 0


def product(one: int, other: int) -> int:
    result = 0
    while other:
        result ^= one * (other & 1)
        one, other = (one << 1) ^ (0x11D if one & 0x80 else 0), other >> 1
    return result


def read(code: Code) -> str:
    size = len(code)
    version = (size - 17) // 4
    mask, bits = mask_of(code), []
    columns = [*range(size - 1, 6, -2), 5, 3, 1]
    for number, right in enumerate(columns):
        rows = range(size) if number % 2 else range(size - 1, -1, -1)
        bits += [
            code[y][x] != is_masked(mask, y, x) for y in rows for x in (right, right - 1) if not is_function(x, y, size)
        ]
    words = [sum(bit << (7 - at) for at, bit in enumerate(bits[i : i + 8])) for i in range(0, len(bits) - 7, 8)]
    room, corrections = ROOM[version]
    assert len(words) == room + corrections
    point = 1
    for _ in range(corrections):  # the syndromes of a code word without errors are 0
        syndrome = 0
        for word in words:
            syndrome = product(syndrome, point) ^ word
        assert syndrome == 0
        point = product(point, 2)
    stream = "".join(f"{word:08b}" for word in words[:room])
    assert stream[:4] == "0100"
    length = int(stream[4:12], 2)
    return bytes(int(stream[12 + 8 * at : 20 + 8 * at], 2) for at in range(length)).decode()


def test_the_qr_code_of_a_link_is_the_link(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page, people={0: ("Ann", "here"), 1: ("Bea", "link"), 2: ("Cy", "link")})
    for number in range(2):
        page.get_by_role("button", name="QR code").nth(number).click()
        code = page.locator("svg.qr").nth(number)
        code.wait_for()
        link = page.locator(".links input").nth(number).input_value()
        drawn = modules(code.locator("path").get_attribute("d"))
        assert read(drawn) == link
    drawn[20][20] = not drawn[20][20]
    with pytest.raises(AssertionError):
        read(drawn)
    page.get_by_role("button", name="QR code").first.click()
    assert page.locator("svg.qr").count() == 1


@pytest.mark.slow
def test_sounds_are_off_at_first_and_name_the_own_turn(open_page: Open) -> None:
    page = open_page("#/play")
    page.evaluate("location.reload()")
    page.locator(".sitters").wait_for()
    page.context.add_init_script(
        "window.tones = []; const start = OscillatorNode.prototype.start;"
        "OscillatorNode.prototype.start = function (...at)"
        " { tones.push(this.frequency.value); return start.apply(this, at) }"
    )
    set_up(page)
    wait_for_turn(page)
    choose_at_random(page, random.Random(1))
    assert page.evaluate("tones") == []
    settle(page, "Sounds", True)
    assert page.evaluate("tones") == [660, 880]
    page.evaluate("tones.length = 0")
    for seed in range(2, 5):  # in one of these turns, another player moves before
        choose_at_random(page, random.Random(seed))
    wait(page, "tones.includes(660) && tones.includes(440)")
    page.locator(".typed input").fill("no such move")
    page.locator(".typed button").click()
    wait(page, "tones.at(-1) === 180")
    settle(page, "Sounds", False)
    page.evaluate("tones.length = 0")
    choose_at_random(page, random.Random(3))
    assert page.evaluate("tones") == []


@pytest.mark.slow
def test_the_switch_of_the_live_analysis_is_remembered(open_page: Open) -> None:
    page = open_page("#/analyse")
    page.locator(".moves").wait_for()
    page.keyboard.press("l")
    page.locator("button.live[aria-pressed=false]").wait_for()
    page.reload()
    page.locator(".worlds").wait_for()
    assert page.locator("button.live[aria-pressed=false]").count() == 1
    assert page.locator(".moves").count() == 0
    page.keyboard.press("l")
    page.locator(".moves").wait_for()
    assert page.locator("svg.ranks").count() > 0
