"""The pictures of the page in docs/. With EMINENCE_WRITE_DOCS=1 they are made anew: look at them."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from states import show, show_state

Open = Callable[..., Any]
FOLDER = Path(__file__).parents[2] / "docs" / "pictures" / "browser"
PAGES = {"play": "later", "analyse": "analysis", "review": "review"}
SIZES = [(360, 740), (768, 1024), (1440, 900)]
THEMES = ("light", "dark")
BYTES_MAX = 1_500_000
COLOURS = 96


@pytest.mark.slow
@pytest.mark.parametrize("page_name", PAGES)
def test_the_pictures_show_the_page(page_name: str, open_page: Open) -> None:
    page = show_state(open_page, PAGES[page_name])
    for width, height in SIZES:
        for theme in THEMES:
            show(page, width, height, theme)
            page.evaluate("scrollTo(0, 0)")
            taken = page.screenshot()
            path = FOLDER / f"{page_name}-{width}-{theme}.png"
            if os.environ.get("EMINENCE_WRITE_DOCS"):
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(compressed(taken))
            assert size_of(path.read_bytes()) == size_of(taken) == (width, height)


def test_the_pictures_are_small_and_shown() -> None:
    pictures = sorted(FOLDER.glob("*.png"))
    assert len(pictures) == len(PAGES) * len(SIZES) * len(THEMES)
    assert sum(path.stat().st_size for path in pictures) < BYTES_MAX
    text = (FOLDER.parents[1] / "browser.md").read_text("utf-8")
    assert [path.name for path in pictures if f"pictures/browser/{path.name}" not in text] == []


def size_of(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def compressed(png: bytes) -> bytes:
    """Return a picture with few colours."""
    image = pytest.importorskip("PIL.Image", reason="the pictures are compressed by Pillow")
    into = BytesIO()
    image.open(BytesIO(png)).convert("RGB").quantize(COLOURS, dither=0).save(into, "PNG", optimize=True)
    return into.getvalue()
