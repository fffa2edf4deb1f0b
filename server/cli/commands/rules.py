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
from server.cli.options import GameId
from server.codec.games import check_game_id
from server.games import adapter_of
from server.games.adapter import RulesTable, as_text


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
)
@click.argument("card", required=False, shell_complete=_ids)
@click.option("--game", "game_id", type=GameId(game_ids()), help="Only this game.")
@click.option("--ruleset", default="", help="Edition, and switches that differ from it.")
@click.option("--players", type=int, help="Number of players, if it matters. Default: the least.")
@json_option
def rules(card: str | None, game_id: str | None, ruleset: str, players: int | None, as_json: bool) -> None:
    """Show games, editions and switches; the cards of a game; or one card by its English, French or German name."""
    if card is None and game_id is None:
        if ruleset:
            raise Failure(f"ruleset: --game is required with {ruleset!r} ({listed(game_ids())})")
        result: dict[str, Any] = {"games": list(_overviews()), "refused": refused_games()}
        formatting.print_json(result) if as_json else _print_overview(**result)
        return
    games = [_game(game_id, ruleset, players)] if game_id else _games(ruleset, players)
    if card is None:
        result = describe_game(games[0])
        formatting.print_json(result) if as_json else _print_game(result)
        return
    rows = [row for game in games for row in describe_cards(game) if _has_name(row, card)]
    if not rows:
        known = sorted({row["names"]["en"] or str(row["value"]) for game in games for row in describe_cards(game)})
        raise Failure(f"card: unknown card {card!r}; known cards: {listed(known)}")
    formatting.print_json({"cards": rows}) if as_json else _print_cards(rows)


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


def _overview(game_id: str) -> dict[str, Any]:
    return {
        "game": game_id,
        "names": adapter_of(game_id).names._asdict(),
        "players": list(_players(game_id)),
        "editions": editions_of(game_id),
        "switches": adapter_of(game_id).describe_switches(),
        "origin": "eminence",
    }


def _overviews() -> Iterator[dict[str, Any]]:
    """Yield the games. A worker process describes the installed ones, because their code may fail in any way."""
    yield from map(_overview, _built_in())
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


def describe_game(game: Game) -> dict[str, Any]:
    """Return a game under a ruleset, with its cards and tables."""
    adapter = adapter_of(game.id)
    return {
        "game": game.id,
        "names": adapter.names._asdict(),
        "edition": adapter.edition(game),
        "players": game.n_players,
        "cards": list(describe_cards(game)),
        **adapter.describe_game(game),
    }


def describe_cards(game: Game) -> Iterator[dict[str, Any]]:
    """Return the rows of the game's table of cards."""
    return adapter_of(game.id).describe_cards(game)


def _has_name(row: Mapping[str, Any], name: str) -> bool:
    known = {*row["names"].values(), row.get("card", ""), row.get("text_name", ""), str(row.get("value", ""))}
    return name.casefold().replace(" ", "_") in {word.casefold().replace(" ", "_") for word in known if word}


# --- for people ------------------------------------------------------------------------------------------------


def _print_overview(games: list[dict[str, Any]], refused: list[str]) -> None:
    out = formatting.console()
    table = formatting.table("game", "en / fr / de", "players", "editions")
    for game in games:
        players = game["players"]
        row = f"{players[0]} to {players[-1]}" if players else "", ", ".join(game["editions"])
        table.add_row(game["game"], _names(game["names"]), *row)
    out.print(table)
    for game in games:
        if game["origin"] != "eminence":
            out.print("", Text(f"{game['game']} is from {game['origin']}. {game.get('fault', '')}".rstrip()), sep="\n")
    for refusal in refused:
        out.print("", Text(refusal), sep="\n")
    for game in games:
        if game["switches"]:
            out.print("", formatting.heading(f"Switches of {game['game']}"), _switches(game["switches"]), sep="\n")
    out.print("", Text("eminence rules --game GAME shows its cards.", style="dim"), sep="\n")


def _names(names: Mapping[str, str]) -> str:
    return " / ".join(dict.fromkeys(names.values()))


def _switches(switches: list[dict[str, Any]]) -> Any:
    columns = list(switches[0]["editions"])
    has_own = "value" in switches[0]
    table = formatting.table("switch and meaning", *(["here"] if has_own else []), *columns)
    for switch in switches:
        label = Text.assemble(switch["name"], "\n", (f"  {switch['meaning']}", "dim"))
        own = [Text(as_text(switch["value"]), style="bold")] if has_own else []
        table.add_row(label, *own, *(as_text(switch["editions"][edition]) for edition in columns))
    return table


def _print_game(result: dict[str, Any]) -> None:
    out = formatting.console()
    out.print(
        formatting.heading(f"{_names(result['names'])}: {result['edition']}, {result['players']} players"), "", sep="\n"
    )
    parts: list[Any] = []
    for table in adapter_of(result["game"]).tables(result):
        parts += [formatting.heading(table.heading)] if table.heading else []
        parts += [_table(table), ""]
    parts.append(_numbers(result))
    if "switches" in result:
        parts += ["", _switches(result["switches"])]
    out.print(*parts, sep="\n")


def _table(content: RulesTable) -> Any:
    table = formatting.table(*content.columns, right=tuple(content.right))
    for row in content.rows:
        table.add_row(*row)
    return table


def _numbers(result: dict[str, Any]) -> Text:
    return Text(", ".join(f"{name.replace('_', ' ')} {as_text(value)}" for name, value in result["numbers"].items()))


def _print_cards(rows: list[dict[str, Any]]) -> None:
    out = formatting.console()
    for number, card in enumerate(rows):
        adapter = adapter_of(card["game"])
        table = formatting.table("", "")
        table.show_header = False
        table.add_row("names", _names(card["names"]))
        for label, text in adapter.card_lines(card):
            table.add_row(label, text)
        out.print(
            *[""] * bool(number),
            formatting.heading(f"{adapter.card_title(card)} ({card['game']})"),
            table,
            sep="\n",
        )
