"""Pictures of tables as SVG. A game describes a `Picture` of its table; `to_svg` draws it.

A picture shows what a position or view holds, and nothing else. Its words are English, and `server.games` has them in
other languages. A seat has a letter, a shape, a colour and a line pattern, so that no colour is needed to tell seats
apart.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

from engine_cy.picture_words import TEXTS, Words
from engine_cy.seats import SEATS

Face = Literal["up", "known", "back"]
Theme = Literal["auto", "light", "dark"]
THEMES: tuple[Theme, ...] = ("auto", "light", "dark")

# --- colours: look.json is the home of those of reports, plots, pictures and of the page in the browser --------------


class Palette(NamedTuple):
    """The colours of a theme. Those of the seats differ for any colour vision (tests/engine/test_pictures.py)."""

    page: str
    sheet: str
    shade: str
    ink: str
    soft: str
    line: str
    gold: str
    accent: str
    seats: list[str]
    grades: dict[str, str]


_LOOK = json.loads((Path(__file__).parent / "look.json").read_text("utf-8"))
LIGHT = Palette(**_LOOK["light"])
DARK = Palette(**_LOOK["dark"])
# The line patterns of the seats' cards.
DASHES: list[str] = _LOOK["dashes"]
# The grades of decisions, best first, with the signs of chess notation.
SIGNS: dict[str, str] = _LOOK["signs"]


# --- what is drawn ------------------------------------------------------------------------------------------------


class DrawnCard(NamedTuple):
    """A card on the table. `face` is "up", "known" (face down, and known to the observer) or "back"."""

    seat: int
    name: str = ""
    face: Face = "up"
    value: str = ""
    tokens: int = 0
    is_acting: bool = False


class Strip(NamedTuple):
    """A line of stacks from left to right, each from its top card down."""

    label: str
    stacks: Sequence[Sequence[DrawnCard]]
    is_numbered: bool = False


class Fact(NamedTuple):
    """A line of text below the cards, about a seat or all: values, or the names of cards, with their values."""

    label: str
    names: Sequence[str | tuple[object, str]]
    seat: int | None = None


class Picture(NamedTuple):
    """A table to draw: the game and its round, a number for each seat, strips of cards, and lines of text."""

    title: str
    owned: Sequence[object] = ()
    unit: str = "points"
    to_act: int | None = None
    strips: Sequence[Strip] = ()
    facts: Sequence[Fact] = ()
    text: str = ""
    round: int | None = None
    turn: int | None = None
    observer: int | None = None


# --- drawing ------------------------------------------------------------------------------------------------------

WIDTH, MARGIN = 720, 20
CARD_WIDTH, CARD_HEIGHT, GAP, COVERED = 88, 118, 10, 26
PER_LINE = (WIDTH - 2 * MARGIN + GAP) // (CARD_WIDTH + GAP)
LINE_HEIGHT, CHARACTERS = 22, 92
# Width of a letter in units of its size.
LETTER = 0.58
# Characters that XML cannot hold.
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def to_svg(picture: Picture, theme: Theme = "auto", words: Words | None = None) -> str:
    """Draw a picture, in English or in other words. The theme "auto" follows the reader's."""
    if theme not in THEMES:
        raise ValueError(f"theme: {theme!r} is not one of {', '.join(THEMES)}")
    drawing = _Drawing(words or {})
    drawing.heading(picture)
    for strip in picture.strips:
        drawing.strip(strip)
    for fact in picture.facts:
        drawing.fact(fact)
    for line in picture.text.splitlines():
        for part in textwrap.wrap(line, CHARACTERS - 8) or [""]:
            drawing.line(part, "em-mono")
    return drawing.document(drawing.title(picture), theme)


class _Drawing:
    """The elements drawn so far, and the height that they take."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._parts: list[str] = []
        self._y = MARGIN

    def _name(self, english: str) -> str:
        return self._words.get(english, english)

    def _say(self, english: str, **values: object) -> str:
        return self._name(english).format(**values)

    def title(self, picture: Picture) -> str:
        text = TEXTS["round" if picture.turn is None else "turn"]
        when = [] if picture.round is None else [self._say(text, round=picture.round, turn=picture.turn)]
        seen = [] if picture.observer is None else [self._say(TEXTS["seen_by"], seat=SEATS[picture.observer])]
        return ", ".join([self._name(picture.title), *when, *seen])

    def heading(self, picture: Picture) -> None:
        self._parts.append(_text(MARGIN, self._y + 16, self.title(picture), "em-title"))
        self._y += 34
        x = MARGIN
        for seat, number in enumerate(picture.owned):
            unit = picture.unit.removesuffix("s") if number == 1 else picture.unit
            acting = f", {self._name(TEXTS['to_act'])}" if picture.to_act == seat else ""
            words = f"{number} {self._name(unit)}{acting}"
            self._parts += [_badge(x + 11, self._y + 9, seat), _text(x + 27, self._y + 14, words, "em-own")]
            x += 50 + int(len(words) * 13 * LETTER)
        self._y += 34 if picture.owned else 0

    def strip(self, strip: Strip) -> None:
        if strip.label:
            self._parts.append(_text(MARGIN, self._y + 10, self._name(strip.label), "em-label"))
            self._y += 18
        if not strip.stacks:
            self._parts.append(_text(MARGIN, self._y + 14, self._name(TEXTS["no_card"]), "em-soft"))
            self._y += 26
        for first in range(0, len(strip.stacks), PER_LINE):
            line = strip.stacks[first : first + PER_LINE]
            top = self._y + (14 if any(stack[0].is_acting for stack in line) else 2)
            deepest = max(len(stack) for stack in line)
            under = top + CARD_HEIGHT + (deepest - 1) * COVERED + (14 if strip.is_numbered else 0)
            for number, stack in enumerate(line):
                x = MARGIN + number * (CARD_WIDTH + GAP)
                for depth in reversed(range(len(stack))):
                    self._parts.append(self._card(stack[depth], x, top + depth * COVERED, depth))
                if strip.is_numbered:
                    self._parts.append(_text(x + CARD_WIDTH / 2, under, str(first + number), "em-soft em-mid"))
            self._y = under + 12

    def fact(self, fact: Fact) -> None:
        x = MARGIN
        if fact.seat is not None:
            self._parts.append(_badge(x + 8, self._y + 10, fact.seat, 7))
            x += 22
        names = ", ".join(
            self._name(name) if isinstance(name, str) else f"{name[0]} {self._name(name[1])}".strip()
            for name in fact.names
        )
        line = self._say(TEXTS["fact"], label=self._name(fact.label), names=names)
        for number, part in enumerate(textwrap.wrap(line, CHARACTERS) or [""]):
            self.line(part, "em-own", x + (14 if number else 0))

    def line(self, text: str, style: str, x: int = MARGIN) -> None:
        self._parts.append(_text(x, self._y + 14, text, style))
        self._y += LINE_HEIGHT

    def _card(self, card: DrawnCard, x: float, y: float, depth: int) -> str:
        """Draw a card; of a covered one, the lower edge remains visible."""
        seat, parts = card.seat, [f"<title>{_escaped(self._described(card, depth))}</title>"]
        frame = f'x="{x}" y="{y}" width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="9"'
        dash = f' stroke-dasharray="{DASHES[seat]}"' if DASHES[seat] else ""
        parts.append(f'<rect class="em-sheet" {frame}/>')
        if card.face != "up":
            parts.append(f'<rect class="em-fill-{seat} em-tint" {frame}/>')
        if card.face == "back":
            parts.append(f'<path class="em-line-{seat} em-hatch" d="{_hatching(x, y)}"/>')
        parts.append(f'<rect class="em-line-{seat} em-frame" {frame}{dash}/>')
        middle = x + CARD_WIDTH / 2
        if depth:
            shown = self._name(card.name if card.face != "back" else TEXTS["face_down"])
            if card.face == "back":
                parts.append(
                    f'<rect class="em-sheet" x="{x + 26}" y="{y + CARD_HEIGHT - 22}" width="56" height="16" rx="8"/>'
                )
            parts.append(_badge(x + 14, y + CARD_HEIGHT - 13, seat, 8))
            parts.append(_text(x + 54, y + CARD_HEIGHT - 9, shown, "em-mid em-small", room=56))
        else:
            parts.append(_badge(x + 17, y + 18, seat))
            if card.value:
                parts.append(_text(x + CARD_WIDTH - 10, y + 27, card.value, "em-value"))
            if card.face != "back":
                parts.append(_text(middle, y + 66, self._name(card.name), "em-mid em-name", room=CARD_WIDTH - 12))
            if card.face == "known":
                face_down = self._name(TEXTS["face_down"])
                parts.append(_text(middle, y + 84, face_down, "em-mid em-soft", room=CARD_WIDTH - 12))
        if card.tokens:
            at = f'cx="{x + CARD_WIDTH - 17}" cy="{y + 18}"'
            parts.append(f'<circle class="em-gold" {at} r="11"/>')
            parts.append(_text(x + CARD_WIDTH - 17, y + 22, str(card.tokens), "em-mid em-token"))
        if card.is_acting:
            parts.append(f'<path class="em-ink" d="M{middle - 7} {y - 12}h14l-7 9z"/>')
            ring = f'x="{x - 4}" y="{y - 2}" width="{CARD_WIDTH + 8}" height="{CARD_HEIGHT + 6}" rx="12"'
            parts.append(f'<rect class="em-ring" {ring}/>')
        return f"<g>{''.join(parts)}</g>"

    def _described(self, card: DrawnCard, depth: int) -> str:
        """Describe a card in words, for its tooltip and for screen readers."""
        name = f"{card.value} {self._name(card.name)}".strip() if card.face != "back" else ""
        words = [self._say(TEXTS["owned"], seat=SEATS[card.seat], card=name or self._name(TEXTS["card"]))]
        words += [] if card.face == "up" else [self._name(TEXTS["face_down"])]
        words += [self._name(TEXTS["covered"])] if depth else []
        words += [self._say(TEXTS["token" if card.tokens == 1 else "tokens"], n=card.tokens)] if card.tokens else []
        words += [self._name(TEXTS["acts_now"])] if card.is_acting else []
        return ", ".join(words)

    def document(self, title: str, theme: Theme) -> str:
        height = self._y + MARGIN - 8
        name = _escaped(title)
        return "".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="em-{theme}" role="img" aria-label="{name}" ',
                f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" style="max-width:100%;height:auto">',
                f"<title>{name}</title><style>{_style(theme)}</style>",
                f'<rect class="em-sheet" width="{WIDTH}" height="{height}" rx="12"/>',
                *self._parts,
                "</svg>\n",
            ]
        )


def _hatching(x: float, y: float) -> str:
    """Return the diagonal lines on the back of a card, within its frame."""
    lines = []
    for start in range(16, CARD_WIDTH + CARD_HEIGHT - 8, 11):
        from_x, to_x = max(4, start - CARD_HEIGHT + 4), min(start - 4, CARD_WIDTH - 4)
        lines.append(f"M{x + from_x} {y + start - from_x}L{x + to_x} {y + start - to_x}")
    return "".join(lines)


def _badge(x: float, y: float, seat: int, size: int = 11) -> str:
    """Draw the letter of a seat in its shape: circle, square, triangle, diamond, hexagon."""
    if seat == 0:
        shape = f'<circle class="em-fill-{seat}" cx="{x}" cy="{y}" r="{size}"/>'
    else:
        corners = (4, 3, 4, 6)[seat - 1]
        turn = {1: math.pi / 4, 2: -math.pi / 2, 3: 0.0, 4: 0.0}[seat]
        radius = size * (1.3 if seat in (1, 2) else 1.15)
        points = " ".join(
            f"{x + radius * math.cos(turn + corner * 2 * math.pi / corners):.1f},"
            f"{y + radius * math.sin(turn + corner * 2 * math.pi / corners):.1f}"
            for corner in range(corners)
        )
        shape = f'<polygon class="em-fill-{seat}" points="{points}"/>'
    return shape + _text(x, y + size * 0.42, SEATS[seat], "em-mid em-letter", size=size * 1.15)


def _text(x: float, y: float, text: str, style: str, *, room: float = 0, size: float = 0) -> str:
    """Draw a text; with `room`, as small as its width requires."""
    if room and text:
        size = min(14 if "em-name" in style else 11, room / (LETTER * len(text)))
    font = f' style="font-size:{size:.1f}px"' if size else ""
    return f'<text class="{style}" x="{x:g}" y="{y:g}"{font}>{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text))


def _style(theme: Theme) -> str:
    """Return the rules of a theme. Their selectors begin with its class: pages may hold several pictures."""
    rules = "".join(f".em-{theme} {rule}" for rule in (*_SHAPES, *_colours(DARK if theme == "dark" else LIGHT)))
    if theme != "auto":
        return rules
    dark = "".join(f".em-{theme} {rule}" for rule in _colours(DARK))
    return f"{rules}@media (prefers-color-scheme:dark){{{dark}}}"


_SHAPES = (
    "text{font:13px system-ui,'Segoe UI',Roboto,sans-serif}",
    ".em-title{font:600 17px Georgia,'Times New Roman',serif}",
    ".em-label{font-size:12px;font-weight:600}",
    ".em-name{font-weight:600}",
    ".em-value{font:600 20px Georgia,'Times New Roman',serif;text-anchor:end}",
    ".em-letter{font-weight:700}",
    ".em-token{font-weight:700}",
    ".em-soft{font-size:11px}",
    ".em-small{font-size:11px}",
    ".em-mono{font-family:ui-monospace,Menlo,Consolas,monospace}",
    ".em-mid{text-anchor:middle}",
    ".em-tint{fill-opacity:.14}",
    ".em-frame{fill:none;stroke-width:2}",
    ".em-hatch{fill:none;stroke-width:2;stroke-opacity:.45}",
    ".em-ring{fill:none;stroke-width:2}",
)


def _colours(palette: Palette) -> Iterator[str]:
    for selector in ("text", ".em-ink"):
        yield f"{selector}{{fill:{palette.ink}}}"
    for selector in (".em-soft", ".em-label"):
        yield f"{selector}{{fill:{palette.soft}}}"
    for selector in (".em-sheet", ".em-letter"):
        yield f"{selector}{{fill:{palette.sheet}}}"
    yield f".em-ring{{stroke:{palette.ink}}}"
    yield f".em-gold{{fill:{palette.gold}}}"
    yield f".em-token{{fill:{LIGHT.ink}}}"
    for seat, colour in enumerate(palette.seats):
        yield f".em-fill-{seat}{{fill:{colour}}}"
        yield f".em-line-{seat}{{stroke:{colour}}}"
