"""Pages in headless Chromium, served by a real server. Without Chromium, tests are skipped, and fail in CI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import accessibility
import pytest
from process import Server, server
from waiting import HANG_S

ROOT = Path(__file__).parents[2]
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = "these tests need Chromium (Debian: chromium) and Playwright (pip install playwright)"

BOARD = ROOT / "server" / "web" / "board"
BUNDLE = """
const { rolldown } = await import(process.argv[1]);
const bundle = await rolldown({ input: process.argv[2], cwd: process.argv[3], platform: "node",
  resolve: { modules: [process.argv[3] + "/node_modules"] } });
await bundle.write({ file: process.argv[4], format: "esm" });
"""

# An open page, of Playwright's type, which need not be installed.
Page: TypeAlias = Any
Open: TypeAlias = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def do_without(why: str) -> NoReturn:
    """Skip a test that lacks a program; in CI, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        do_without(NO_BROWSER)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        do_without(NO_BROWSER)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def served() -> Iterator[Server]:
    """Return a server that all tests of a worker share."""
    with server("--threads", "2", "--caller-tables", "200", web=True, metrics=True) as running:
        yield running


@contextmanager
def opened(browser: Any, web: str, path: str = "", **settings: Any) -> Iterator[Page]:
    """Open a page in a context of its own; fail at its end if a script failed, or the page broke its policy.

    The policy counts in all documents of the context, also in those before a reload. A request to another address than
    the server's is a failure, too. A refused call is none, though the console shows it.
    """
    settings = {"viewport": {"width": 1440, "height": 900}, "locale": "en-GB"} | settings
    context = browser.new_context(**settings)
    context.set_default_timeout(HANG_S * 1000)
    failures: list[str] = []
    context.expose_binding("noteViolation", lambda _, directive: failures.append(f"policy: {directive}"))
    context.add_init_script(
        "addEventListener('securitypolicyviolation', (event) => noteViolation(event.violatedDirective))"
    )
    context.on("weberror", lambda failed: failures.append(str(failed.error)))
    own = (web, "blob:", "about:", "data:")
    context.on("request", lambda call: None if call.url.startswith(own) else failures.append(f"request: {call.url}"))
    page = context.new_page()
    page.goto(f"{web}/{path}")
    if path == "" or path.startswith("#"):  # the parts of a page arrive after its document
        page.locator("main > * + *").first.wait_for(state="attached")
    try:
        yield page
        page.evaluate("0")  # the notes before its answer have arrived
        assert failures == []
    finally:
        context.close()


@pytest.fixture(scope="session")
def opened_page(browser: Any) -> Callable[..., AbstractContextManager[Page]]:
    """Return `opened` with the browser, for pages that several tests share, and for tests of its checks."""
    return lambda web, path="", **settings: opened(browser, web, path, **settings)


@pytest.fixture
def open_page(browser: Any, served: Server) -> Iterator[Open]:
    """Return a function that opens a path of the board, such as "#/play", in a context of its own.

    `web` is the address of another server than the shared one.
    """
    with ExitStack() as pages:
        yield lambda path="", web=served.web, **settings: pages.enter_context(opened(browser, web, path, **settings))


@pytest.fixture
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of screenshots: that in EMINENCE_PICTURES, or a temporary one."""
    folder = os.environ.get("EMINENCE_PICTURES")
    if folder is None:
        return tmp_path_factory.mktemp("pictures")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(scope="session")
def axe() -> Callable[[Page], list[str]]:
    """Return a function that lists a page's serious faults for people with disabilities."""
    if not accessibility.SCRIPT.exists():
        do_without(accessibility.MISSING)
    return accessibility.serious_faults


@pytest.fixture(scope="session")
def page_code(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Any]]:
    """Return a function that runs a TypeScript program of this folder, which uses the page's code, in node.

    The program reads values as lines of JSON, and answers each by a line.
    """
    node, rolldown = shutil.which("node"), BOARD / "node_modules" / "rolldown" / "dist" / "index.mjs"
    if node is None or not rolldown.exists() or not (BOARD / "generated").exists():
        do_without("the page's code needs node and its packages; .ci/web installs them")
    folder = tmp_path_factory.mktemp("programs")

    def run(source: str, values: Iterable[object], *arguments: str) -> list[Any]:
        program = folder / f"{source}.mjs"
        if not program.exists():
            paths = [rolldown, Path(__file__).with_name(source), BOARD, program]
            command = [node, "--input-type=module", "-e", BUNDLE, *map(str, paths)]
            subprocess.run(command, check=True, capture_output=True)
        lines = "".join(json.dumps(value) + "\n" for value in values)
        done = subprocess.run([node, str(program), *arguments], input=lines, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run
