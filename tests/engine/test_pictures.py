"""Pictures of tables: they show what a position or view holds, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import combinations
from random import Random
from xml.etree import ElementTree

import pytest
from colours import VISIONS, contrast, distance

import server.games  # noqa: F401  adds the words of pictures
from engine_cy import Game, Position, new_game
from engine_cy.picture_words import TEXTS
from engine_cy.pictures import DARK, LIGHT, DrawnCard, Fact, Palette, Picture, Strip, to_svg

GAMES = [
    new_game("oriflamme", "en-2019", players=3),
    new_game("oriflamme", "revised", players=5),
    new_game("oriflamme_prototype", players=2),
    new_game("castle_village_port", players=4),
    new_game("kuhn_poker", players=2),
]
SVG = "{http://www.w3.org/2000/svg}"


def tables(game: Game, deals: int = 3) -> list[Position]:
    """Return the tables of random games, from the first to the last."""
    found = []
    for seed in range(deals):
        draw, position = Random(seed), game.deal(seed)
        while True:
            found.append(position)
            if position.is_over:
                break
            position = position.play(draw.choice(position.legal_actions()))
    return found


def words(svg: str) -> str:
    """Return all texts of a picture; they are those of its tooltips, too."""
    root = ElementTree.fromstring(svg)
    return "\n".join(element.text or "" for tag in ("text", "title") for element in root.iter(SVG + tag))


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_every_table_of_a_game_can_be_drawn(game: Game) -> None:
    for position in tables(game, 1):
        for state in (position, *(position.view(seat) for seat in range(game.n_players))):
            root = ElementTree.fromstring(state.to_svg())
            assert root.get("role") == "img"
            title = root.find(SVG + "title")
            assert title is not None
            assert title.text == root.get("aria-label")
            assert state._repr_svg_() == state.to_svg()


@pytest.mark.parametrize("game", GAMES[:4], ids=repr)
def test_the_picture_of_a_view_shows_nothing_that_the_view_hides(game: Game) -> None:
    differing = 0
    for number, position in enumerate(tables(game, 2)):
        for seat in (number % game.n_players, (number + 1) % game.n_players):
            view = position.view(seat)
            picture = view.to_svg()
            other = view.sample_world(seed=number)
            assert other.view(seat).to_svg() == picture
            differing += other.to_svg() != position.to_svg()
            for name in names_of_others(position, seat):
                assert name not in words(picture)
    assert differing > 40  # else the pictures of positions would be no proof


def names_of_others(position: Position, seat: int) -> set[str]:
    """Return the names of the cards that others hold or have face down, and have neither shown nor discarded."""
    if position.game.id == "castle_village_port":
        return set()  # every player has the same cards
    names = {card.id: card.name for card in position.game.cards}  # type: ignore[attr-defined]
    hidden = {
        card
        for other in range(position.game.n_players)
        if other != seat
        for card in (*position.parts.secrets_of(other).hand, *position.parts.secrets_of(other).face_down)
    }
    own = position.parts.secrets_of(seat)
    seen = {*own.hand, *own.face_down, *(card for pile in position.table.piles for card in pile)}
    seen |= {card.card for slot in position.table.slots for card in slot.cards}
    return {names[card] for card in hidden - seen}


def test_cards_are_described_in_words() -> None:
    view = GAMES[0].view("C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A")
    shown = words(view.to_svg())
    for text in (
        "Oriflamme, round 4, seen by A",
        "7 points, to act",
        "A's Ambush, face down, 1 token, acts now",
        "B's Soldier",
        "C's card, face down, 2 tokens",
    ):
        assert text in shown.split("\n")


def test_a_covered_card_and_a_selected_card_are_drawn() -> None:
    stacked = GAMES[0].view(">A:Soldier*/A:Spy B:? | round 2 | seen by A").to_svg()
    assert "A's Spy, face down, covered" in words(stacked)
    castle = GAMES[3].deal(3)
    selected = castle.legal_actions()[0]
    castle = castle.play(selected)
    name = {card.value: card.name for card in castle.game.ruleset.cards}[selected.fields["card"]]
    known = f"A's {selected.fields['card']} {name}".strip() + ", face down"
    assert known in words(castle.view("A").to_svg())
    assert known not in words(castle.view("B").to_svg())
    assert "A's card, face down" in words(castle.view("B").to_svg())


def test_texts_are_escaped() -> None:
    bad = "<script>alert(1)</script> & \"x\" 'y' \x00\x1b\ud800"
    picture = Picture(bad, [bad], bad, 0, [Strip(bad, [[DrawnCard(0, bad, value=bad)]])], [Fact(bad, [bad], 1)], bad)
    svg = to_svg(picture)
    root = ElementTree.fromstring(svg)
    assert "<script" not in svg
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "style", "rect", "g", "text", "circle", "polygon", "path")
    }
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    assert "\N{REPLACEMENT CHARACTER}" in words(svg)


def test_a_picture_loads_nothing_and_its_rules_stay_within_it() -> None:
    svg = GAMES[1].deal(1).to_svg()
    assert re.findall(r"(?:https?:|url\(|@import|href)", svg) == ["http:"]  # the namespace
    style = svg.split("<style>")[1].split("</style>")[0]
    selectors = re.findall(r"([^{}]+)\{(?=[^{}]*\})", style.replace("@media (prefers-color-scheme:dark){", ""))
    assert selectors
    assert all(selector.startswith(".em-auto ") for selector in selectors)
    assert "," not in "".join(selectors)


def test_a_game_without_pictures_shows_its_text() -> None:
    view = GAMES[4].deal(1).view(0)
    assert str(view).split("|")[0].strip() in words(view.to_svg())


@pytest.mark.parametrize(
    ("lang", "texts"),
    [
        ("fr", ("Oriflamme, manche 4, vu par A", "7 points, à jouer", "Embuscade", "Soldat de B")),
        ("de", ("Oriflamme, Runde 4, gesehen von A", "7 Punkte, am Zug", "Karte von C, verdeckt, 2 Marker")),
    ],
    ids=["fr", "de"],
)  # fmt: skip
def test_a_picture_speaks_the_language_of_its_reader(lang: str, texts: tuple[str, ...]) -> None:
    view = GAMES[0].view("C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A")
    shown = words(view.to_svg(lang=lang)).split("\n")
    assert [text for text in texts if text not in shown] == []
    assert any(text.startswith(("main : Espion, ", "Hand: Spionin, ")) for text in shown)


@pytest.mark.parametrize("game", GAMES[:4], ids=repr)
@pytest.mark.parametrize("lang", ["fr", "de"])
def test_no_english_text_remains_in_another_language(game: Game, lang: str) -> None:
    texts = {text for text in TEXTS.values() if "{" not in text} - {"points", "point"}  # these are French, too
    for position in tables(game, 1)[::3]:
        drawn = {part.strip() for part in re.split("[,:\n]", words(position.view(0).to_svg(lang=lang)))}
        assert drawn & texts == set()


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="lang: 'xx' is not one of en, fr, de"):
        GAMES[0].deal(1).to_svg(lang="xx")


def test_the_engine_alone_draws_in_english() -> None:
    """The words of other languages need protobuf, which the engine does not."""
    code = "from engine_cy import new_game; new_game('oriflamme').deal().to_svg(lang='de')"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "EngineError: lang: the engine alone draws in English, not 'de'; `import server.games`" in alone.stderr
    code = "import eminence; print('Runde 1' in eminence.new_game('oriflamme').deal().to_svg(lang='de'))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"


def test_a_theme_that_is_none_is_refused() -> None:
    state = GAMES[0].deal(1)
    assert LIGHT.ink in state.to_svg("light")
    assert "prefers-color-scheme" not in state.to_svg("dark")
    with pytest.raises(ValueError, match="theme: 'blue' is not one of auto, light, dark"):
        state.to_svg("blue")  # type: ignore[arg-type]


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_seats_differ_for_every_colour_vision(palette: Palette, vision: str) -> None:
    assert min(distance(one, other, vision) for one, other in combinations(palette.seats, 2)) >= 15


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_read(palette: Palette) -> None:
    for ground in (palette.sheet, palette.page, palette.shade):
        for colour in (palette.ink, palette.soft, palette.accent, *palette.seats, *palette.grades.values()):
            assert contrast(colour, ground) >= 4.5, (colour, ground)
    assert contrast(LIGHT.ink, palette.gold) >= 4.5


def test_the_distance_of_colours_is_that_of_the_paper() -> None:
    # Red and green of one lightness are far apart, but not for deuteranopes.
    assert distance("#ffffff", "#000000") == pytest.approx(100, abs=0.1)
    assert distance("#1f5aa6", "#6a3d9c", "deutan") < 5 < 15 < distance("#1f5aa6", "#6a3d9c")
