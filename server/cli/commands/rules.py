"""eminence rules: show games, editions and cards from the tables of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from engine_cy import Game, InvalidRulesetError, new_game
from engine_cy.castle_village_port import editions as castle
from engine_cy.castle_village_port import words as castle_vocab
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.cards import Card as CastleCard
from engine_cy.errors import listed
from engine_cy.oriflamme import editions
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.cards import Card
from engine_cy.oriflamme.words import Deed, Nature, Reach
from engine_cy.record import read_ruleset
from server.card_names import CASTLE_VILLAGE_PORT, GAMES, ORIFLAMME, Names, names_of
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.exit_codes import Failure
from server.codec.games import GAME_IDS, check_game_id

# --- the words of the tables, as text ---------------------------------------------------------------------

REACHES = {
    Reach.NOTHING: "",
    Reach.EITHER_END: "the first or the last slot",
    Reach.NEIGHBOUR: "a slot beside its own",
    Reach.RIVAL: "an opponent who owns a neighbour",
    Reach.ANY_SLOT: "any slot, also its own",
    Reach.OTHER_SLOT: "any slot but its own",
    Reach.SHOWN_NEIGHBOUR: "a neighbour that lies face up",
    Reach.OTHER_PAIR: "two slots, neither of them its own",
}
DEEDS = {
    Deed.NO_DEED: "does nothing",
    Deed.ELIMINATE: "eliminates what it points at and gains {amount}",
    Deed.ELIMINATE_IF_ALIKE: "eliminates both if they have one name, and gains {amount} for each",
    Deed.STEAL: "takes {amount} from the player pointed at",
    Deed.GAIN_IF_SOLE_NAME: "gains {amount} unless another face-up top card has its name",
    Deed.GAIN_IF_SOLE_KIND: "gains {amount} unless a face-up top card has the name of this ability, but a copied one",
    Deed.GAIN_WITH_NEIGHBOURS: "gains {amount}, and 1 for each own card in the slots beside it",
    Deed.GAIN_UNLESS_CROWDED: "gains {amount}; with two or more cards in a slot beside it, it is eliminated instead",
    Deed.COPY: "acts as the card pointed at",
    Deed.MOVE: "carries the card pointed at elsewhere",
    Deed.MULTIPLY_TOKENS: "has its own tokens pay {amount} each",
    Deed.FORFEIT_TOKENS: "gains {amount} instead of its tokens",
}
NATURES = {
    Nature.ONE_SHOT: "discarded after it acted",
    Nature.AMBUSH: "gains its owner {ambush_gain} when an opponent's card hits it",
    Nature.UNREVEALABLE: "cannot be revealed by its owner",
    Nature.LEAVES: "eliminated, for nothing, after it acted",
}
WHEN = {
    castle_vocab.When.NEVER: "never",
    castle_vocab.When.IMMEDIATE: "when it is revealed",
    castle_vocab.When.END: "at the end of each round",
}
CASTLE_DEEDS = {
    castle_vocab.Deed.NO_DEED: "does nothing",
    castle_vocab.Deed.LEAVE_IF_PRESENT: "is discarded if a {who} is in its location",
    castle_vocab.Deed.PAY_OTHERS: "pays the owner of every other card there {amount}",
    castle_vocab.Deed.MOVE_NEIGHBOUR: "moves a neighbour to another location",
    castle_vocab.Deed.ROB_NEIGHBOUR: "takes up to {amount} gold from a player who owns a neighbour",
    castle_vocab.Deed.COPY_NEIGHBOUR: "copies the immediate effect of a neighbour",
    castle_vocab.Deed.SWAP_SELECTED: "swaps another player's selected card for a random one of their hand",
    castle_vocab.Deed.ORDER_LOCATION: "chooses where another player must place the selected card",
    castle_vocab.Deed.PAY_FROM_RIGHT: "has its location's rewards paid from the right, this round",
    castle_vocab.Deed.GAIN_PER_LOW: "gains {amount} for each card under {below} in its location",
    castle_vocab.Deed.DISCARD_NEIGHBOUR: "discards a neighbour",
    castle_vocab.Deed.FETCH: "fetches any card of another location into its own",
    castle_vocab.Deed.DOUBLE_REWARD: "in the {where}, gets its reward {factor} times",
    castle_vocab.Deed.DISCARD_HIGHEST: "discards the highest card of its location",
}
REWARDS = {
    castle_vocab.Reward.NUMBER: "{amount:+d}",
    castle_vocab.Reward.PER_CARD: "1 per card there",
    castle_vocab.Reward.STEAL_EACH: "1 from each other player",
    castle_vocab.Reward.HALF_VALUE: "half its value, rounded up",
}
# Keys of --json, and the engine's names for the same numbers.
NUMBERS = {
    "rounds": "n_rounds",
    "cards_in_hand": "hand_size",
    "cards_set_aside": "aside",
    "copies_of_each_card": "copies",
    "points_at_the_start": "start_points",
}
YES_NO = {True: "yes", False: "no"}


def _ids(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return sorted(name for name in {*ORIFLAMME, *CASTLE_VILLAGE_PORT} if str(name).startswith(incomplete.lower()))


@command(
    "eminence rules",
    "eminence rules archer",
    "eminence rules Formwandlerin",
    "eminence rules --game oriflamme --ruleset de-2019",
    "eminence rules --game castle_village_port --players 5",
    "eminence rules lord --json",
)
@click.argument("card", required=False, shell_complete=_ids)
@click.option("--game", "game_id", type=click.Choice(GAME_IDS), help="Only this game.")
@click.option("--ruleset", default="", help="Edition, and switches that differ from it.")
@click.option("--players", type=int, help="Number of players, if it matters. Default: the least.")
@json_option
def rules(card: str | None, game_id: str | None, ruleset: str, players: int | None, as_json: bool) -> None:
    """Show games, editions and switches; the cards of a game; or one card by its English, French or German name."""
    if card is None and game_id is None:
        if ruleset:
            raise Failure(f"ruleset: --game is required with {ruleset!r} ({listed(GAME_IDS)})")
        result: dict[str, Any] = {"games": [_overview(name) for name in GAME_IDS]}
        formatting.print_json(result) if as_json else _print_overview(result["games"])
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
    """Return the games that have a ruleset for this number of players."""
    games: list[Game] = []
    refusals: list[InvalidRulesetError] = []
    spec = read_ruleset(ruleset)
    edition = spec if isinstance(spec, str) else (spec or {}).get("edition")
    for game_id in GAME_IDS:
        try:
            games.append(_game(game_id, ruleset, players))
        except InvalidRulesetError as error:
            # The error of the edition's own game comes first.
            refusals.insert(0 if edition in _editions(game_id) else len(refusals), error)
    if not games:
        raise refusals[0]
    return games


def _editions(game_id: str) -> list[str]:
    return list(castle.EDITIONS) if game_id == "castle_village_port" else editions.editions_of(game_id)


def _game(game_id: str, ruleset: str, players: int | None) -> Game:
    check_game_id(game_id, "game")
    return new_game(game_id, read_ruleset(ruleset), min(_players(game_id)) if players is None else players)


def _players(game_id: str) -> tuple[int, ...]:
    if game_id == "castle_village_port":
        return castle.PLAYERS
    return editions.EDITIONS[editions.editions_of(game_id)[0]].players


# --- the output as plain values: these are the keys of --json ---------------------------------------------------


def _overview(game_id: str) -> dict[str, Any]:
    return {
        "game": game_id,
        "names": GAMES[game_id]._asdict(),
        "players": list(_players(game_id)),
        "editions": _editions(game_id),
        "switches": [] if game_id == "castle_village_port" else describe_switches(game_id),
    }


def describe_switches(game_id: str) -> list[dict[str, Any]]:
    """Return the switches of Oriflamme or its prototype, with their values in each edition."""
    return [
        {
            "name": name,
            "meaning": switch.meaning,
            "values": list(switch.values),
            "editions": {
                edition: editions.EDITIONS[edition].switches[name] for edition in editions.editions_of(game_id)
            },
        }
        for name, switch in editions.SWITCHES[game_id].items()
    ]


def describe_game(game: Game) -> dict[str, Any]:
    """Return a game under a ruleset, with its cards and tables."""
    ruleset = game.ruleset
    result: dict[str, Any] = {
        "game": game.id,
        "names": GAMES[game.id]._asdict(),
        "edition": ruleset.edition,
        "players": game.n_players,
        "cards": list(describe_cards(game)),
    }
    if isinstance(game, CastleVillagePort):
        numbers = castle.table_numbers(ruleset, game.n_players)
        result["numbers"] = {
            "hand_size": ruleset.hand_size,
            "rounds": ruleset.rounds,
            "turns_per_round": numbers.n_turns,
            "starting_gold": ruleset.starting_gold,
            "hidden_gold": ruleset.hidden_gold,
        }
        result["rewards"] = {
            location: [REWARDS[castle_vocab.Reward(entry.kind)].format(amount=entry.amount) for entry in entries]
            for location, entries in zip(LOCATIONS, numbers.rewards, strict=True)
        }
        return result
    numbers_of_all = editions.table_numbers(ruleset, game.n_players)
    result["numbers"] = {name: numbers_of_all[key] for name, key in NUMBERS.items()}
    result["switches"] = [
        {**switch, "value": ruleset.switches[switch["name"]]} for switch in describe_switches(game.id)
    ]
    return result


def describe_cards(game: Game) -> Iterator[dict[str, Any]]:
    """Yield the rows of the game's table of cards."""
    if isinstance(game, Oriflamme):
        for card in game.cards:
            yield _oriflamme_row(game, card)
    elif isinstance(game, CastleVillagePort):
        for row in game.ruleset.cards:
            yield _castle_row(game, row)


def _oriflamme_row(game: Oriflamme, card: Card) -> dict[str, Any]:
    numbers = editions.table_numbers(game.ruleset, game.n_players)
    natures = [text.format_map(numbers) for nature, text in NATURES.items() if card.nature & nature]
    reach = REACHES[Reach(card.reach)]
    deed = DEEDS[Deed(card.deed)].format(amount=card.amount)
    word = card.id.rpartition("_")[2]
    return {
        "game": game.id,
        "card": card.id,
        "text_name": card.name,
        "names": names_of(card)._asdict(),
        "points_at": reach,
        "then": deed,
        "amount": card.amount,
        "besides": natures,
        "switches": {name: value for name, value in game.ruleset.switches.items() if word in name.split("_")},
    }


def _castle_row(game: CastleVillagePort, card: CastleCard) -> dict[str, Any]:
    names = CASTLE_VILLAGE_PORT.get(card.name, Names(card.name, card.name, card.name))
    deed = CASTLE_DEEDS[castle_vocab.Deed(card.deed)].format(**card._asdict())
    return {
        "game": game.id,
        "value": card.value,
        "names": names._asdict(),
        "when": WHEN[castle_vocab.When(card.when)],
        "then": deed,
    }


def _has_name(row: Mapping[str, Any], name: str) -> bool:
    known = {*row["names"].values(), row.get("card", ""), row.get("text_name", ""), str(row.get("value", ""))}
    return name.casefold().replace(" ", "_") in {word.casefold().replace(" ", "_") for word in known if word}


# --- for people ------------------------------------------------------------------------------------------------


def _print_overview(games: list[dict[str, Any]]) -> None:
    out = formatting.console()
    table = formatting.table("game", "en / fr / de", "players", "editions")
    for game in games:
        players = game["players"]
        table.add_row(
            game["game"], _names(game["names"]), f"{players[0]} to {players[-1]}", ", ".join(game["editions"])
        )
    out.print(table)
    for game in games:
        if game["switches"]:
            out.print("", formatting.heading(f"Switches of {game['game']}"), _switches(game["switches"]), sep="\n")
    out.print("", Text("eminence rules --game GAME shows its cards.", style="dim"), sep="\n")


def _names(names: Mapping[str, str]) -> str:
    return " / ".join(dict.fromkeys(names.values()))


def _word(value: object) -> str:
    return YES_NO[value] if isinstance(value, bool) else str(value)


def _switches(switches: list[dict[str, Any]]) -> Any:
    columns = list(switches[0]["editions"])
    has_own = "value" in switches[0]
    table = formatting.table("switch and meaning", *(["here"] if has_own else []), *columns)
    for switch in switches:
        label = Text.assemble(switch["name"], "\n", (f"  {switch['meaning']}", "dim"))
        own = [Text(_word(switch["value"]), style="bold")] if has_own else []
        table.add_row(label, *own, *(_word(switch["editions"][edition]) for edition in columns))
    return table


def _print_game(result: dict[str, Any]) -> None:
    out = formatting.console()
    out.print(
        formatting.heading(f"{_names(result['names'])}: {result['edition']}, {result['players']} players"), "", sep="\n"
    )
    if result["game"] == "castle_village_port":
        _print_castle(out, result)
        return
    out.print(_oriflamme_table(result["cards"]), "", _numbers(result), "", _switches(result["switches"]), sep="\n")


def _oriflamme_table(cards: list[dict[str, Any]]) -> Any:
    table = formatting.table("card", "fr / de", "points at", "and then")
    for card in cards:
        besides = "".join(f"; {text}" for text in card["besides"])
        names = card["names"]
        table.add_row(names["en"], f"{names['fr']} / {names['de']}", card["points_at"], card["then"] + besides)
    return table


def _print_castle(out: Console, result: dict[str, Any]) -> None:
    table = formatting.table("value", "card", "fr / de", "when", "and then", right=("value",))
    for card in result["cards"]:
        names = card["names"]
        foreign = f"{names['fr']} / {names['de']}" if names["en"] else ""
        table.add_row(str(card["value"]), names["en"], foreign, card["when"], card["then"])
    rewards = formatting.table(
        "location", *(f"{rank}." for rank in range(1, 1 + max(map(len, result["rewards"].values()))))
    )
    for location, entries in result["rewards"].items():
        rewards.add_row(location, *entries)
    out.print(
        table, "", formatting.heading("Gold for the ranks of a location"), rewards, "", _numbers(result), sep="\n"
    )


def _numbers(result: dict[str, Any]) -> Text:
    return Text(", ".join(f"{name.replace('_', ' ')} {_word(value)}" for name, value in result["numbers"].items()))


def _print_cards(rows: list[dict[str, Any]]) -> None:
    out = formatting.console()
    for number, card in enumerate(rows):
        value = f", value {card['value']}" if "value" in card else ""
        table = formatting.table("", "")
        table.show_header = False
        table.add_row("names", _names(card["names"]))
        if "value" in card:
            table.add_row("acts", card["when"])
        elif card["points_at"]:
            table.add_row("points at", card["points_at"])
        table.add_row("and then", card["then"])
        for text in card.get("besides", ()):
            table.add_row("besides", text)
        for name, setting in card.get("switches", {}).items():
            table.add_row("switch", f"{name} {_word(setting)}")
        out.print(
            *[""] * bool(number), formatting.heading(f"{card['names']['en']}{value} ({card['game']})"), table, sep="\n"
        )
