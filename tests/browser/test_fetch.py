"""The example of docs/http.md for pages runs in Chromium: on the server's own origin, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from process import Server
from program import ROOT

Open = Callable[..., Any]
[EXAMPLE] = re.findall(r"```js\n(.*?)```", (ROOT / "docs" / "http.md").read_text("utf-8"), re.DOTALL)
ADDRESS = "http://127.0.0.1:8080"


def program(web: str) -> str:
    assert ADDRESS in EXAMPLE
    return f"async () => {{ {EXAMPLE.replace(ADDRESS, web)} }}"


def test_the_example_runs_in_a_page_of_the_server(open_page: Open, served: Server) -> None:
    page = open_page("icon.svg")
    with page.expect_console_message(lambda message: message.type == "log") as message:
        page.evaluate(program(served.web))
    assert message.value.text == re.findall(r"// prints (.*)", EXAMPLE)[0]


def test_a_page_of_another_origin_gets_no_answer(browser: Any, served: Server) -> None:
    page = browser.new_page()
    with pytest.raises(Exception, match="Failed to fetch"):
        page.evaluate(program(served.web))
    page.close()


def test_the_example_uses_what_all_browsers_have() -> None:
    """Safari cannot iterate over the body of an answer."""
    assert "response.body.getReader()" in EXAMPLE
    assert not re.search(r"of \w+\.body\b", EXAMPLE)
