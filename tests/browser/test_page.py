"""The page as a whole: its pages, its languages, and its colours."""

from __future__ import annotations

from typing import Any

Open = Any


def test_the_page_opens_without_a_fault(open_page: Open) -> None:
    page = open_page()
    assert page.title() == "Eminence"
    page.get_by_role("heading", name="Eminence").wait_for()
