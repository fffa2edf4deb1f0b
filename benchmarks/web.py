"""Measure the page in headless Chromium: how light it is, how fast it shows and reacts, and what it costs the server.

A *phone* has a processor of a quarter of this machine's speed, a line of 1.6 Mbit/s with 150 ms of latency, and 360 x
640 pixels. Each round opens new windows, in an empty cache. The server runs in another process of the same machine, so
the figures include its work and that of Chromium.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import sys
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from benchmarks import report
from benchmarks.measure import Figure, figure
from benchmarks.questions import mixed_views
from benchmarks.report import Goal, Measured, Result
from benchmarks.servers import ServerProcess, free_port, serving
from benchmarks.service import answers_per_second, calling, percentile, requests_of
from engine_cy import View, new_game
from server.web.files import read_files

GOALS = {
    "bundle_kb": Goal(120, 115),
    "first_kb": Goal(100, 80),
    "desktop_paint_ms": Goal(500, 300),
    "desktop_answer_ms": Goal(1000, 600),
    "phone_paint_ms": Goal(1800, 1200),
    "phone_largest_ms": Goal(2500, 1600),
    "phone_answer_ms": Goal(3000, 2100),
    "layout_shift": Goal(0.05, 0.01),
    "phone_blocked_ms": Goal(300, 150),
    "frames_p95_ms": Goal(17, 16.8),
    "phone_frames_p95_ms": Goal(34, 17),
    "pick_ms": Goal(100, 50),
    "edit_ms": Goal(350, 200),
    "idle_ms": Goal(300, 50),
    "axe_faults": Goal(0, 0),
    "twin_differences": Goal(0, 0),
    "grpc_cached": Goal(0.95, 1.0),
    "grpc_throughput": Goal(0.95, 1.0),
}
MEANINGS = {
    "bundle_kb": "kB of all parts of the page in one language, the longest, after gzip -9; the same in every run",
    "first_kb": "kB of the files that are loaded before the first use, after gzip -9; the heaviest of the three pages",
    "desktop_paint_ms": "from the address to the first paint",
    "desktop_answer_ms": "from the address of a position to the first answer of its live analysis on screen",
    "phone_paint_ms": "the first paint on a phone",
    "phone_largest_ms": "the largest contentful paint on a phone",
    "phone_answer_ms": "the first answer of a live analysis on a phone",
    "layout_shift": "layout shifts on a phone and on a desktop until 2 s after the first answer; the larger sum",
    "phone_blocked_ms": "time beyond 50 ms of each long task on a phone, until 2 s after the first answer",
    "frames_p95_ms": "time between frames while answers about many moves stream, 95th percentile",
    "phone_frames_p95_ms": "the same with a quarter of the speed",
    "pick_ms": "from a click on a card to the frame that shows it picked, with a quarter of the speed; the longest",
    "edit_ms": "from the last edit of a position to its complaints or its new table on screen",
    "idle_ms": "from a closed tab, or a page that is left, to idle search threads; the slower of both",
    "axe_faults": "serious and critical faults that axe-core finds, in all states, widths and themes; always the same",
    "twin_differences": "answers to a seat that differ, of 5,000 pairs of tables of each game that look alike to it",
    "grpc_cached": "round trips per second of a gRPC client with cached answers: page open against page closed",
    "grpc_throughput": "answers per second of 8 gRPC clients: page open against page closed",
}
NO_BROWSER = (
    "the suite `web` needs Chromium (Debian: apt-get install chromium; or CHROMIUM=/path/to/it) and Playwright "
    "(pip install playwright)"
)
# The states of the page, and pairs of tables, are those of the tests.
sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


class Scale(NamedTuple):
    """Number and duration of the measurements."""

    rounds: int = 5
    frames_seconds: float = 3.0
    picks: int = 5
    calls: int = 600  # of one client, per slice
    load_seconds: float = 0.7  # of many clients, per slice
    slices: int = 4  # of each side, per round
    pairs: int = 5000  # of tables, of each game


FULL = Scale()


def run(scale: Scale = FULL, only: Collection[str] = ()) -> Result:
    """Measure the figures in `only`, or all."""
    if not only or set(only) - {"bundle_kb", "twin_differences"}:
        with chromium():
            pass  # end before anything is measured if it is missing
    return report.measure_figures(MEASURES, scale, only)


def as_text(result: Result) -> str:
    return report.as_text("web: headless Chromium on this machine", GOALS, MEANINGS, result)


# --- Chromium ----------------------------------------------------------------------------------------------------

WATCH = """
window.seen = {paint: 0, largest: 0, shift: 0, tasks: [], answer: 0, events: []};
const on = (type, note, more = {}) =>
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({type, buffered: true, ...more});
on("paint", (entry) => entry.name === "first-contentful-paint" && (seen.paint = entry.startTime));
on("largest-contentful-paint", (entry) => (seen.largest = entry.startTime));
on("layout-shift", (entry) => entry.hadRecentInput || (seen.shift += entry.value));
on("longtask", (entry) => seen.tasks.push([entry.startTime, entry.duration]));
on("event", (entry) => seen.events.push([entry.name, entry.duration]), {durationThreshold: 16});
const answers = new MutationObserver(() => {
  if (document.querySelector(".best") === null) return;
  answers.disconnect();
  requestAnimationFrame(() => (seen.answer = performance.now()));
});
answers.observe(document, {childList: true, subtree: true});
"""
HANG_MS = 60_000
# A page that was just opened or closed keeps Chromium busy for a moment.
SETTLING_MS = 1000
PHONE_CPU = 4
EDITION = "en-2019"
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 360, "height": 640}
# A reader needs the words of one language, and no licenses.
LANGUAGE = re.compile("/assets/(en|fr|de)-")
NOT_LOADED = ("/index.html", "/licenses.md")


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield the browser; say in one sentence what is missing."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SystemExit(NO_BROWSER) from None
    if program is None:
        raise SystemExit(NO_BROWSER)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def window(browser: Any, *, is_phone: bool = False, is_slow: bool = False, locale: str = "en-GB") -> Iterator[Any]:
    """Yield a new window that records what the browser observes; a phone has a slow line, too."""
    context = browser.new_context(viewport=PHONE if is_phone else DESKTOP, locale=locale, has_touch=is_phone)
    context.set_default_timeout(HANG_MS)
    context.add_init_script(WATCH)
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    if is_phone or is_slow:
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": PHONE_CPU})
    if is_phone:
        line = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 200_000}
        devtools.send("Network.emulateNetworkConditions", line)
    try:
        yield page
    finally:
        context.close()


def wait_for_answer(page: Any) -> None:
    """Wait until an answer of live analysis is on screen."""
    page.locator(".best").wait_for()
    while page.evaluate("seen.answer") == 0:
        page.wait_for_timeout(20)


class WebServer(NamedTuple):
    """A server, the address of its page, and that of its metrics."""

    process: ServerProcess
    web: str
    metrics: str

    def searches(self) -> int:
        """Return the number of searches that run."""
        page = urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=10).read().decode()
        match = re.search(r"^eminence_searches_running ([\d.]+)$", page, re.MULTILINE)
        assert match is not None
        return int(float(match[1]))


@contextmanager
def web_server(*flags: str) -> Iterator[WebServer]:
    web, metrics = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    with serving("--metrics", metrics, "--no-self-test", *flags, web=web) as process:
        yield WebServer(process, f"http://{web}", metrics)


def link(server: WebServer, view: View) -> str:
    """Return the address of a position in Analyse, which begins to think about it."""
    game = view.game
    parts = {"game": game.id, "edition": EDITION, "players": game.n_players, "view": str(view)}
    return f"{server.web}/#/analyse?{urlencode(parts)}"


@cache
def opening() -> View:
    """Return the view before the first choice, which picks a card and then its place."""
    position = new_game("oriflamme", EDITION, 3).deal(1)
    return position.view(position.to_act or 0)


@cache
def crowded() -> View:
    """Return a view with five players, a long queue and more than a hundred moves."""
    game = new_game("oriflamme", EDITION, 5)
    for seed in itertools.count():
        position, draw = game.deal(seed), random.Random(seed)
        while not position.is_over:
            if (position.to_act or 0) >= 0 and len(position.legal_actions()) > 100:
                return position.view(position.to_act or 0)
            position = position.play(draw.choice(position.legal_actions()))
    raise AssertionError


# --- the figures -------------------------------------------------------------------------------------------------


def packed_sizes() -> dict[str, int]:
    """Return the bytes of each file of the page after gzip."""
    return {path: len(file.packed) for path, file in read_files().items()}


def measure_bundle(_: Scale) -> dict[str, Measured]:
    sizes = {path: size for path, size in packed_sizes().items() if path not in NOT_LOADED}
    languages = [size for path, size in sizes.items() if LANGUAGE.match(path)]
    size = sum(sizes.values()) - sum(languages) + max(languages)
    return {"bundle_kb": (Figure(size / 1000, 0.0), sizes)}


def measure_first(_: Scale) -> dict[str, Measured]:
    """Open each page in the language with the longest words, until it can be used."""
    sizes, loaded = packed_sizes(), {}
    with web_server() as server, chromium() as browser:
        for name, (address, ready) in pages(server).items():
            with window(browser, locale="de-DE") as page:
                paths: set[str] = set()
                page.on("request", lambda call, paths=paths: paths.add(urlsplit(call.url).path))
                page.goto(address)
                page.locator(ready).first.wait_for(state="attached")
                loaded[name] = {path: sizes[path] for path in sorted(paths & set(sizes))}
    heaviest = max(sum(each.values()) for each in loaded.values())
    return {"first_kb": (Figure(heaviest / 1000, 0.0), loaded)}


def pages(server: WebServer) -> dict[str, tuple[str, str]]:
    """Return the address of each page, and the selector of an element of its usable state."""
    return {
        "play": (f"{server.web}/#/play", ".sitters option"),
        "analyse": (link(server, opening()), ".best"),
        "review": (f"{server.web}/#/review", "main textarea"),
    }


class Opening(NamedTuple):
    """Observations of the browser from the address of a position until 2 s after the first answer."""

    paint: float
    largest: float
    answer: float
    shift: float
    blocked: float


def measure_opening(scale: Scale) -> dict[str, Measured]:
    """Open a position on a desktop and on a phone, in turn."""
    desktop, phone = [], []
    with web_server() as server, chromium() as browser:
        for _ in range(scale.rounds):
            address = link(server, opening())
            desktop.append(opened(browser, address, is_phone=False))
            phone.append(opened(browser, address, is_phone=True))
    return opening_figures(desktop, phone)


def opened(browser: Any, address: str, *, is_phone: bool) -> Opening:
    """Open a position in a new window."""
    with window(browser, is_phone=is_phone) as page:
        page.goto(address)
        wait_for_answer(page)
        page.wait_for_timeout(2000)
        seen = page.evaluate("seen")
    return Opening(seen["paint"], seen["largest"], seen["answer"], seen["shift"], blocked(seen["tasks"], seen["paint"]))


def blocked(tasks: Sequence[Sequence[float]], since: float) -> float:
    """Return the milliseconds by which tasks after the first paint took longer than 50."""
    return sum(max(0.0, duration - 50) for start, duration in tasks if start + duration > since)


def opening_figures(desktop: Sequence[Opening], phone: Sequence[Opening]) -> dict[str, Measured]:
    def of(rounds: Sequence[Opening], name: str) -> Measured:
        values = [round(getattr(each, name), 4) for each in rounds]
        return figure(values), {"rounds": values}

    shifts = {"desktop": of(desktop, "shift"), "phone": of(phone, "shift")}
    worst = max(shifts, key=lambda name: shifts[name][0].value)
    return {
        "desktop_paint_ms": of(desktop, "paint"),
        "desktop_answer_ms": of(desktop, "answer"),
        "phone_paint_ms": of(phone, "paint"),
        "phone_largest_ms": of(phone, "largest"),
        "phone_answer_ms": of(phone, "answer"),
        "layout_shift": (shifts[worst][0], {name: details["rounds"] for name, (_, details) in shifts.items()}),
        "phone_blocked_ms": of(phone, "blocked"),
    }


FRAMES = """(milliseconds) => new Promise((resolve) => {
  const times = [];
  const frame = (now) => {
    times.push(now);
    if (now - times[0] < milliseconds) requestAnimationFrame(frame);
    else resolve(times.slice(1).map((time, index) => time - times[index]));
  };
  requestAnimationFrame(frame);
})"""


def measure_frames(scale: Scale) -> dict[str, Measured]:
    """Measure the time between frames of a desktop and of a quarter of its speed, in turn."""
    rounds: dict[bool, list[float]] = {False: [], True: []}
    with web_server() as server, chromium() as browser:
        for _ in range(scale.rounds):
            for is_slow, values in rounds.items():
                with window(browser, is_slow=is_slow) as page:
                    page.goto(link(server, crowded()))
                    wait_for_answer(page)
                    values.append(percentile(page.evaluate(FRAMES, 1000 * scale.frames_seconds), 95))
    details = {"moves": len(crowded().legal_actions())}
    names = {False: "frames_p95_ms", True: "phone_frames_p95_ms"}
    return {names[each]: (figure(values), {**details, "rounds": values}) for each, values in rounds.items()}


def measure_pick(scale: Scale) -> dict[str, Measured]:
    """Pick cards of the hand while answers stream, and take them back."""
    rounds = []
    with web_server() as server, chromium() as browser:
        for _ in range(scale.rounds):
            with window(browser, is_slow=True) as page:
                page.goto(link(server, opening()))
                wait_for_answer(page)
                page.evaluate("seen.events = []")
                for number in range(scale.picks):
                    page.locator("button.held.open").nth(number).click()
                    page.locator("[aria-pressed=true].held").wait_for()
                    page.keyboard.press("Escape")
                    page.locator("[aria-pressed=true].held").wait_for(state="detached")
                rounds.append(longest_event(page.evaluate("seen.events")))
    return {"pick_ms": (figure(rounds), {"rounds": rounds})}


def longest_event(events: Sequence[Sequence[Any]]) -> float:
    """Return the longest of the events of clicks; the browser reports none below 16 ms."""
    clicks = (float(duration) for name, duration in events if name in ("pointerdown", "pointerup", "click"))
    return max(16.0, *clicks, 0.0)


EDITED = """() => new Promise((resolve) => {
  const editor = document.querySelector(".editor");
  const field = editor.querySelector("fieldset:last-of-type input[type=number]");
  const start = performance.now();
  let wasBusy = false;
  new MutationObserver((_, observer) => {
    wasBusy ||= editor.ariaBusy === "true";
    if (!wasBusy || editor.ariaBusy === "true") return;
    observer.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - start));
  }).observe(editor, {attributes: true, attributeFilter: ["aria-busy"]});
  field.value = field.value === "3" ? "-1" : "3";
  for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, {bubbles: true}));
})"""


def measure_edit(scale: Scale) -> dict[str, Measured]:
    """Edit points to and fro: one table is possible, the other gets a complaint."""
    rounds = []
    with web_server() as server, chromium() as browser:
        for _ in range(scale.rounds):
            with window(browser) as page:
                page.goto(link(server, opening()))
                wait_for_answer(page)
                page.keyboard.press("e")
                page.locator(".editor:not([aria-busy=true])").wait_for()
                rounds.append(float(median(page.evaluate(EDITED) for _ in range(4))))
    return {"edit_ms": (figure(rounds), {"rounds": rounds})}


def measure_idle(scale: Scale) -> dict[str, Measured]:
    """Close the tab of a live analysis, or leave it for another page, and wait for idle search threads."""
    ends: dict[str, Callable[[Any], object]] = {
        "closed": lambda page: page.close(),
        "left": lambda page: page.evaluate("location.hash = '#/play'"),
    }
    taken: dict[str, list[float]] = {name: [] for name in ends}
    with web_server() as server, chromium() as browser:
        for _ in range(scale.rounds):
            for name, end in ends.items():
                with window(browser) as page:
                    page.goto(link(server, opening()))
                    wait_for_answer(page)
                    assert server.searches() > 0
                    start = time.perf_counter()
                    end(page)
                    while server.searches() > 0:
                        time.sleep(0.002)
                    taken[name].append((time.perf_counter() - start) * 1e3)
    worst = max(taken, key=lambda name: median(taken[name]))
    return {"idle_ms": (figure(taken[worst]), {"worst": worst, **taken})}


# --- what is not timed --------------------------------------------------------------------------------------------


def measure_axe(_: Scale) -> dict[str, Measured]:
    """Bring a page into each of its states, with stored answers of the solver, and look for faults."""
    from accessibility import MISSING, SCRIPT, serious_faults
    from states import SIZES, STATES, THEMES, show, show_state

    if not SCRIPT.exists():
        raise SystemExit(MISSING)
    faults = {}
    with web_server("--caller-tables", "200") as server, chromium() as browser:
        for state in STATES:
            with window(browser) as page:
                show_state(lambda path, page=page: page.goto(f"{server.web}/{path}") and page, state)
                for (width, height), theme in itertools.product(SIZES, THEMES):
                    show(page, width, height, theme)
                    faults[f"{state} {width} {theme}"] = serious_faults(page)
    n_faults = sum(map(len, faults.values()))
    details = {"looked_at": len(faults), **{name: each for name, each in faults.items() if each}}
    return {"axe_faults": (Figure(float(n_faults), 0.0), details)}


def measure_twins(scale: Scale) -> dict[str, Measured]:
    from twin_tables import TWIN_GAMES, twin_differences

    differences = {game_id: twin_differences(game_id, scale.pairs) for game_id in TWIN_GAMES}
    return {"twin_differences": (Figure(float(sum(differences.values())), 0.0), {"pairs": scale.pairs, **differences})}


# --- gRPC beside the page ------------------------------------------------------------------------------------------


class Beside(NamedTuple):
    """A rate of gRPC clients in one round, with the page open and closed."""

    opened: float
    closed: float


def measure_grpc(scale: Scale) -> dict[str, Measured]:
    """Alternate between an open and a closed page, at one server and with the same questions."""
    views = mixed_views(20)
    requests = requests_of(views)
    cached, throughput = [], []
    with ExitStack() as stack:
        server, other = (stack.enter_context(web_server(*flags)) for flags in (("--cache-mb", "64"), ()))
        browser = stack.enter_context(chromium())
        call = stack.enter_context(calling(server.process))

        def cached_rate() -> float:
            start = time.perf_counter()
            for number in range(scale.calls):
                call(requests[number % len(requests)])
            return scale.calls / (time.perf_counter() - start)

        def throughput_rate() -> float:
            return answers_per_second(other.process, views, scale.load_seconds)

        cached_rate()
        for _ in range(scale.rounds):
            cached.append(beside(browser, server, cached_rate, scale.slices))
            throughput.append(beside(browser, other, throughput_rate, scale.slices))
    return {"grpc_cached": beside_figure(cached), "grpc_throughput": beside_figure(throughput)}


def beside(browser: Any, server: WebServer, rate: Callable[[], float], slices: int) -> Beside:
    """Measure a rate in slices: open, closed, closed, open ..."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    with window(browser) as page:
        for number in range(2 * slices):
            is_open = number % 4 in (0, 3)
            page.goto("about:blank")
            if is_open:
                page.goto(link(server, opening()))
                wait_for_answer(page)
                page.keyboard.press("l")
                page.locator("button.live[aria-pressed=false]").wait_for()
                page.evaluate("localStorage.clear()")  # else the next slice opens a page that does not analyse
            page.wait_for_timeout(SETTLING_MS)
            rates[is_open].append(in_thread(rate))
    return Beside(median(rates[True]), median(rates[False]))


def in_thread(work: Callable[[], float]) -> float:
    """Run a function on another thread: Playwright's own event loop belongs to this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def beside_figure(rounds: Sequence[Beside]) -> Measured:
    details = {name: [round(getattr(each, name), 1) for each in rounds] for name in Beside._fields}
    return figure([each.opened / each.closed for each in rounds]), details


# Functions by the figures that they measure together.
MEASURES: dict[tuple[str, ...], Callable[[Scale], dict[str, Measured]]] = {
    ("bundle_kb",): measure_bundle,
    ("first_kb",): measure_first,
    (
        "desktop_paint_ms",
        "desktop_answer_ms",
        "phone_paint_ms",
        "phone_largest_ms",
        "phone_answer_ms",
        "layout_shift",
        "phone_blocked_ms",
    ): measure_opening,
    ("frames_p95_ms", "phone_frames_p95_ms"): measure_frames,
    ("pick_ms",): measure_pick,
    ("edit_ms",): measure_edit,
    ("idle_ms",): measure_idle,
    ("axe_faults",): measure_axe,
    ("twin_differences",): measure_twins,
    ("grpc_cached", "grpc_throughput"): measure_grpc,
}
