"""eminence rules: show games, editions and cards from the tables of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.text import Text

import solver  # noqa: F401  adds the games of OpenSpiel
from engine_cy import Game, InvalidRulesetError, editions_of, game_ids, game_sources, new_game, players_of
from engine_cy.errors import listed
from engine_cy.record import read_ruleset
from engine_cy.registry import refused_games
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.exit_codes import Failure
from server.cli.options import WORDS, GameId, language_option
from server.codec.games import check_game_id
from server.games import adapter_of
from server.games.adapter import RulesTable, as_text
from server.languages import DEFAULT, LANGUAGES, Words, words_of


def _ids(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    rows = [row for game in _games("", None) for row in describe_cards(game)]
    names = {row.get("card") or row["names"]["en"] for row in rows}
    return sorted(name for name in names if name.lower().startswith(incomplete.lower()))


@command(
    "eminence rules",
    "eminence rules archer",
    "eminence rules Formwandlerin",
    "eminence rules --game oriflamme --ruleset de-2019",
    "eminence rules --game castle_village_port --players 5",
    "eminence rules lord --json",
    "eminence rules --game oriflamme --lang de",
)
@click.argument("card", required=False, shell_complete=_ids)
@click.option("--game", "game_id", type=GameId(game_ids()), help="Only this game.")
@click.option("--ruleset", default="", help="Edition, and switches that differ from it.")
@click.option("--players", type=int, help="Number of players, if it matters. Default: the least.")
@language_option
@json_option
def rules(
    card: str | None, game_id: str | None, ruleset: str, players: int | None, language: str, as_json: bool
) -> None:
    """Show games, editions and switches; the cards of a game; or one card by its English, French or German name."""
    if as_json:
        language = DEFAULT
    words = words_of(WORDS, language)
    if card is None and game_id is None:
        if ruleset:
            raise Failure(f"ruleset: --game is required with {ruleset!r} ({listed(game_ids())})")
        result: dict[str, Any] = {"games": list(_overviews(language)), "refused": refused_games()}
        formatting.print_json(result) if as_json else _print_overview(**result, words=words)
        return
    games = [_game(game_id, ruleset, players)] if game_id else _games(ruleset, players)
    if card is None:
        result = describe_game(games[0], language)
        formatting.print_json(result) if as_json else _print_game(result, words)
        return
    rows = [row for game in games for row in describe_cards(game, language) if _has_name(row, card)]
    if not rows:
        known = sorted({row["names"]["en"] or str(row["value"]) for game in games for row in describe_cards(game)})
        raise Failure(f"card: unknown card {card!r}; known cards: {listed(known)}")
    formatting.print_json({"cards": rows}) if as_json else _print_cards(rows, words)


def _games(ruleset: str, players: int | None) -> list[Game]:
    """Return the built-in games that have a ruleset for this number of players."""
    games: list[Game] = []
    refusals: list[InvalidRulesetError] = []
    spec = read_ruleset(ruleset)
    edition = spec if isinstance(spec, str) else (spec or {}).get("edition")
    for game_id in _built_in():
        try:
            games.append(_game(game_id, ruleset, players))
        except InvalidRulesetError as error:
            # The error of the edition's own game comes first.
            refusals.insert(0 if edition in editions_of(game_id) else len(refusals), error)
    if not games:
        raise refusals[0]
    return games


def _built_in() -> list[str]:
    return [source.id for source in game_sources() if source.package is None]


def _game(game_id: str, ruleset: str, players: int | None) -> Game:
    check_game_id(game_id, "game")
    if players is None and game_id in game_ids():
        players = min(_players(game_id))
    return new_game(game_id, read_ruleset(ruleset), players)


def _players(game_id: str) -> tuple[int, ...]:
    return players_of(game_id, editions_of(game_id)[0])


# --- the output as plain values: these are the keys of --json ---------------------------------------------------


def _overview(game_id: str, language: str = DEFAULT) -> dict[str, Any]:
    return {
        "game": game_id,
        "names": adapter_of(game_id).names._asdict(),
        "players": list(_players(game_id)),
        "editions": editions_of(game_id),
        "switches": adapter_of(game_id).describe_switches(language),
        "origin": "eminence",
    }


def _overviews(language: str) -> Iterator[dict[str, Any]]:
    """Yield the games. A worker process describes the installed ones, because their code may fail in any way."""
    yield from (_overview(game_id, language) for game_id in _built_in())
    installed = [source.id for source in game_sources() if source.package is not None]
    if installed:
        from server.client.local import LocalClient

        with LocalClient(isolates=True) as client:
            for game_id in installed:
                info = client.describe(game_id)
                yield {
                    "game": game_id,
                    "names": {"en": info.names.en, "fr": info.names.fr, "de": info.names.de},
                    "players": list(info.players),
                    "editions": list(info.editions),
                    "switches": [],
                    "origin": info.origin,
                    **({"fault": info.fault} if info.fault else {}),
                }


def describe_game(game: Game, language: str = DEFAULT) -> dict[str, Any]:
    """Return a game under a ruleset, with its cards and tables."""
    adapter = adapter_of(game.id)
    return {
        "game": game.id,
        "names": adapter.names._asdict(),
        "edition": adapter.edition(game),
        "players": game.n_players,
        "cards": list(describe_cards(game, language)),
        **adapter.describe_game(game, language),
    }


def describe_cards(game: Game, language: str = DEFAULT) -> Iterator[dict[str, Any]]:
    """Return the rows of the game's table of cards."""
    return adapter_of(game.id).describe_cards(game, language)


def _has_name(row: Mapping[str, Any], name: str) -> bool:
    known = {*row["names"].values(), row.get("card", ""), row.get("text_name", ""), str(row.get("value", ""))}
    return name.casefold().replace(" ", "_") in {word.casefold().replace(" ", "_") for word in known if word}


# --- for people ------------------------------------------------------------------------------------------------


def _print_overview(games: list[dict[str, Any]], refused: list[str], words: Words) -> None:
    out, say = formatting.console(), words.say
    languages = _in_order(dict(zip(LANGUAGES, LANGUAGES, strict=True)), words)
    table = formatting.table(say("rules.game"), languages, say("rules.players"), say("rules.editions"))
    for game in games:
        players = game["players"]
        number = say("rules.range", least=players[0], most=players[-1]) if players else ""
        table.add_row(game["game"], _in_order(game["names"], words), number, ", ".join(game["editions"]))
    out.print(table)
    for game in games:
        if game["origin"] != "eminence":
            text = say("rules.origin", game=game["game"], origin=game["origin"], fault=game.get("fault", ""))
            out.print("", Text(text.rstrip()), sep="\n")
    for refusal in refused:
        out.print("", Text(refusal), sep="\n")
    for game in games:
        if game["switches"]:
            heading = formatting.heading(say("rules.switches", game=game["game"]))
            out.print("", heading, _switches(game["switches"], words), sep="\n")
    out.print("", Text(say("rules.more"), style="dim"), sep="\n")


def _in_order(names: Mapping[str, str], words: Words) -> str:
    """Return the names in all languages, the reader's first."""
    return " / ".join(dict.fromkeys([names[words.language], *names.values()]))


def _switches(switches: list[dict[str, Any]], words: Words) -> Any:
    columns = list(switches[0]["editions"])
    has_own = "value" in switches[0]
    table = formatting.table(words.say("rules.switch"), *([words.say("rules.here")] if has_own else []), *columns)
    for switch in switches:
        label = Text.assemble(switch["name"], "\n", (f"  {switch['meaning']}", "dim"))
        own = [Text(as_text(switch["value"]), style="bold")] if has_own else []
        table.add_row(label, *own, *(as_text(switch["editions"][edition]) for edition in columns))
    return table


def _print_game(result: dict[str, Any], words: Words) -> None:
    out, adapter = formatting.console(), adapter_of(result["game"])
    names = _in_order(result["names"], words)
    title = words.say("rules.title", names=names, edition=result["edition"], n=result["players"])
    out.print(formatting.heading(title), "", sep="\n")
    parts: list[Any] = []
    for table in adapter.tables(result, words.language):
        parts += [formatting.heading(table.heading)] if table.heading else []
        parts += [_table(table), ""]
    numbers = (
        f"{adapter.number_name(key, words.language)} {as_text(value)}" for key, value in result["numbers"].items()
    )
    parts.append(Text(" · ".join(numbers)))
    if "switches" in result:
        parts += ["", _switches(result["switches"], words)]
    out.print(*parts, sep="\n")


def _table(content: RulesTable) -> Any:
    table = formatting.table(*content.columns, right=tuple(content.right))
    for row in content.rows:
        table.add_row(*row)
    return table


def _print_cards(rows: list[dict[str, Any]], words: Words) -> None:
    out = formatting.console()
    for number, card in enumerate(rows):
        adapter = adapter_of(card["game"])
        table = formatting.table("", "")
        table.show_header = False
        table.add_row(words.say("rules.names"), _in_order(card["names"], words))
        for label, text in adapter.card_lines(card, words.language):
            table.add_row(label, text)
        out.print(
            *[""] * bool(number),
            formatting.heading(f"{adapter.card_title(card, words.language)} ({card['game']})"),
            table,
            sep="\n",
        )
