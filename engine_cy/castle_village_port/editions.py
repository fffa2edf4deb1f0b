"""Tables of cards and rewards as data: the house's and callers' own. No rules code asks which edition it is in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from engine_cy.castle_village_port.cards import HOUSE, LOCATIONS, Card
from engine_cy.castle_village_port.words import Deed, Reward, When
from engine_cy.errors import InvalidRulesetError, listed

PLAYERS = (3, 4, 5)
RANKS_MAX = 8
NAME_MAX = 40


class RewardEntry(NamedTuple):
    """The reward of a rank; only `Reward.NUMBER` has an amount."""

    kind: Reward
    amount: int = 0


Entries = tuple[RewardEntry, ...]
# Per location, for 3 and 4 players ("3-4") and for 5 ("5").
Rewards = Mapping[str, Mapping[str, Entries]]


class Ruleset(NamedTuple):
    """All parameters of the rules but the number of players. Cards are listed by value, highest first."""

    edition: str
    cards: tuple[Card, ...]
    rewards: Rewards
    hand_size: int
    rounds: int
    turns_per_round: Mapping[int, int]
    starting_gold: int
    hidden_gold: bool

    def spelled_out(self) -> dict[str, object]:
        """Return all fields as a caller would send them, but the turns of a round: they differ by number of players."""
        return {
            "edition": self.edition,
            "cards": [_write_card(card) for card in self.cards],
            "rewards": _write_rewards(self.rewards),
            "hand_size": self.hand_size,
            "rounds": self.rounds,
            "starting_gold": self.starting_gold,
            "hidden_gold": self.hidden_gold,
        }

    def overrides(self) -> dict[str, object]:
        """Return the fields that differ from the house's, as a caller would send them.

        `read_ruleset` makes an equal ruleset from them.
        """
        house = EDITIONS[self.edition]
        overrides: dict[str, object] = {}
        if self.cards != house.cards:
            overrides["cards"] = [_write_card(card) for card in self.cards]
        rewards = _write_rewards(
            {location: by_group for location, by_group in self.rewards.items() if by_group != house.rewards[location]}
        )
        if rewards:
            overrides["rewards"] = rewards
        if self.turns_per_round != house.turns_per_round:
            overrides["turns_per_round"] = self.turns_per_round[PLAYERS[0]]
        for field in ("hand_size", "rounds", "starting_gold", "hidden_gold"):
            if getattr(self, field) != getattr(house, field):
                overrides[field] = getattr(self, field)
        return overrides


class Numbers(NamedTuple):
    """All numbers of rules.pxd's `Rules`: a ruleset for one number of players. Rewards follow `LOCATIONS`."""

    n_players: int
    hand_size: int
    n_rounds: int
    n_turns: int
    starting_gold: int
    hidden_gold: bool
    rewards: tuple[Entries, Entries, Entries]
    cards: tuple[Card, ...]


# --- the words of a caller's table -----------------------------------------------------------------------------

WHEN = {"immediate": When.IMMEDIATE, "end": When.END, "never": When.NEVER}


class Effect(NamedTuple):
    """A deed, its parameters with their defaults (None: required), and its only timing, if restricted."""

    deed: Deed
    parameters: Mapping[str, int | str | None] = {}
    only: str | None = None


# By their names, which are those of the deeds.
EFFECTS = {"none": Effect(Deed.NO_DEED)} | {deed.name.lower(): Effect(deed) for deed in Deed if deed != Deed.NO_DEED}
EFFECTS |= {
    effect.deed.name.lower(): effect
    for effect in (
        Effect(Deed.LEAVE_IF_PRESENT, {"who": None}),
        Effect(Deed.PAY_OTHERS, {"amount": 1}),
        Effect(Deed.ROB_NEIGHBOUR, {"amount": 2}),
        # At the end of a round no player has a face-down card left.
        Effect(Deed.SWAP_SELECTED, only="immediate"),
        Effect(Deed.ORDER_LOCATION, only="immediate"),
        Effect(Deed.PAY_FROM_RIGHT, only="end"),
        Effect(Deed.GAIN_PER_LOW, {"below": 6, "amount": 1}),
        Effect(Deed.DOUBLE_REWARD, {"where": "port", "factor": 2}, only="end"),
    )
}
RANGES = {"amount": (0, 9), "below": (1, 16), "factor": (1, 4)}
REWARDS = {"per_card": Reward.PER_CARD, "steal_each": Reward.STEAL_EACH, "half_value": Reward.HALF_VALUE}
GROUPS = ("3-4", "5")


def _number(amount: int) -> RewardEntry:
    return RewardEntry(Reward.NUMBER, amount)


_PER_CARD, _STEAL_EACH, _HALF_VALUE = (RewardEntry(kind) for kind in REWARDS.values())

HOUSE_REWARDS: Rewards = {
    # The rule book has only the castle's for 3 and 4 players; the others are (ours).
    "castle": {
        "3-4": (_number(4), _number(3), _number(1)),
        "5": (_number(5), _number(4), _number(2), _number(1)),
    },
    "village": {
        "3-4": (_number(3), _number(2), _PER_CARD),
        "5": (_number(4), _number(3), _PER_CARD, _number(1)),
    },
    "port": {
        "3-4": (_HALF_VALUE, _STEAL_EACH, _number(-1)),
        "5": (_HALF_VALUE, _STEAL_EACH, _number(2), _number(-1)),
    },
}

EDITIONS = {
    "house": Ruleset(
        edition="house",
        cards=HOUSE,
        rewards=HOUSE_REWARDS,
        hand_size=6,
        rounds=3,
        turns_per_round={3: 4, 4: 3, 5: 3},
        starting_gold=3,
        hidden_gold=False,
    ),
}

NUMBERS = {"hand_size": (1, 15), "rounds": (1, 15), "turns_per_round": (1, 15), "starting_gold": (0, 99)}
FIELDS = ("edition", "cards", "rewards", *NUMBERS, "hidden_gold")
_CARD_FIELDS = ("value", "name", "when", "effect")


# --- reading ---------------------------------------------------------------------------------------------------


def read_ruleset(fields: object = None) -> Ruleset:
    """Read a caller's ruleset: the name of an edition, or tables and numbers that override one (default "house").

    `docs/rules/castle_village_port.md` describes the format. A ruleset that cannot be played is refused with the
    reason.
    """
    if fields is None or isinstance(fields, str):
        fields = {"edition": "house" if fields is None else fields}
    if not isinstance(fields, Mapping):
        raise InvalidRulesetError(f"ruleset: {fields!r} is neither an edition's name nor a mapping that overrides one")
    for field in fields:
        if field not in FIELDS:
            raise InvalidRulesetError(f"ruleset.{field}: castle_village_port has no such field ({listed(FIELDS)})")
    name = fields.get("edition", "house")
    if not isinstance(name, str) or name not in EDITIONS:
        raise InvalidRulesetError(
            f"ruleset.edition: {name!r} is not an edition of castle_village_port ({listed(EDITIONS)})"
        )
    ruleset = EDITIONS[name]
    if "cards" in fields:
        ruleset = ruleset._replace(cards=_read_cards(fields["cards"]))
    if "rewards" in fields:
        ruleset = ruleset._replace(rewards={**ruleset.rewards, **_read_rewards(fields["rewards"], ruleset.rewards)})
    numbers = {
        field: _whole(fields[field], f"ruleset.{field}", *limits)
        for field, limits in NUMBERS.items()
        if field in fields
    }
    if "turns_per_round" in numbers:
        ruleset = ruleset._replace(turns_per_round=dict.fromkeys(PLAYERS, numbers["turns_per_round"]))
    ruleset = ruleset._replace(
        hand_size=numbers.get("hand_size", ruleset.hand_size),
        rounds=numbers.get("rounds", ruleset.rounds),
        starting_gold=numbers.get("starting_gold", ruleset.starting_gold),
        hidden_gold=_yes_or_no(fields.get("hidden_gold", ruleset.hidden_gold), "ruleset.hidden_gold"),
    )
    # With the fewest turns: the house's differ by the number of players, which is unknown here.
    _check_turns(ruleset, min(ruleset.turns_per_round.values()))
    return ruleset


def table_numbers(ruleset: Ruleset, n_players: int) -> Numbers:
    """Return the numbers of a ruleset for `n_players`."""
    if type(n_players) is not int or n_players not in PLAYERS:
        raise InvalidRulesetError(f"players: {n_players!r} is not possible in {ruleset.edition} ({listed(PLAYERS)})")
    n_turns = ruleset.turns_per_round[n_players]
    _check_turns(ruleset, n_turns, f" with {n_players} players")
    castle, village, port = (ruleset.rewards[location][_group(n_players)] for location in LOCATIONS)
    return Numbers(
        n_players=n_players,
        hand_size=ruleset.hand_size,
        n_rounds=ruleset.rounds,
        n_turns=n_turns,
        starting_gold=ruleset.starting_gold,
        hidden_gold=ruleset.hidden_gold,
        rewards=(castle, village, port),
        cards=ruleset.cards,
    )


def _group(n_players: int) -> str:
    return "5" if n_players == 5 else "3-4"


def _check_turns(ruleset: Ruleset, n_turns: int, where: str = "") -> None:
    """Check that each player has a card to play in every turn."""
    if n_turns > ruleset.hand_size:
        raise InvalidRulesetError(
            f"ruleset.turns_per_round: {n_turns}{where} is more than hand_size {ruleset.hand_size}, "
            "and nothing is drawn within a round"
        )
    needed = ruleset.rounds * n_turns
    if needed > len(ruleset.cards):
        most = len(ruleset.cards) // n_turns
        possible = f"at most {most}" if most else "not even one is possible"
        raise InvalidRulesetError(
            f"ruleset.rounds: {ruleset.rounds} of {n_turns} turns{where} need {needed} cards each, "
            f"but the table has {len(ruleset.cards)} ({possible})"
        )


def _whole(value: object, field: str, low: int, high: int) -> int:
    # A bool is an int to Python, but True is not a number of rounds.
    if type(value) is not int:
        raise InvalidRulesetError(f"{field}: {value!r} is not a whole number in {low}..{high}")
    if not low <= value <= high:
        raise InvalidRulesetError(f"{field}: {value} is not in {low}..{high}")
    return value


def _yes_or_no(value: object, field: str) -> bool:
    if type(value) is not bool:
        raise InvalidRulesetError(f"{field}: {value!r} is not one of False, True")
    return value


def _word(value: object, field: str, words: Collection[str]) -> str:
    if not isinstance(value, str) or value not in words:
        raise InvalidRulesetError(f"{field}: {value!r} is not one of {listed(words)}")
    return value


def _list(value: object, field: str, items: str) -> list[object]:
    if not isinstance(value, (list, tuple)):
        raise InvalidRulesetError(f"{field}: {value!r} is not a list of {items}")
    return list(value)


def _read_cards(value: object) -> tuple[Card, ...]:
    rows = _list(value, "ruleset.cards", "cards")
    if not rows:
        raise InvalidRulesetError("ruleset.cards: [] has no card; accepted are 1 to 15 cards, each of another value")
    cards: list[Card] = []
    for c, row in enumerate(rows):
        field = f"ruleset.cards[{c}]"
        card = _read_card(row, field)
        for other, earlier in enumerate(cards):
            if earlier.value == card.value:
                raise InvalidRulesetError(f"{field}.value: cards[{other}] has the value {card.value} already")
        cards.append(card)
    names = {card.name for card in cards}
    for c, card in enumerate(cards):
        if card.deed == Deed.LEAVE_IF_PRESENT and card.who not in names:
            raise InvalidRulesetError(
                f"ruleset.cards[{c}].who: {card.who!r} is not the name of a card of the table, so no card could "
                f"drive this one out ({listed(sorted(name for name in names if name))})"
            )
    return tuple(sorted(cards, reverse=True))


def _read_card(row: object, field: str) -> Card:
    if not isinstance(row, Mapping):
        raise InvalidRulesetError(f"{field}: {row!r} is not a card, which has {listed(_CARD_FIELDS)} and parameters")
    for needed in _CARD_FIELDS:
        if needed not in row:
            raise InvalidRulesetError(f"{field}.{needed}: missing; a card has {listed(_CARD_FIELDS)} and parameters")
    value = _whole(row["value"], f"{field}.value", 1, 15)
    name = _name(row["name"], f"{field}.name")
    when = _word(row["when"], f"{field}.when", WHEN)
    word = _word(row["effect"], f"{field}.effect", EFFECTS)
    effect = EFFECTS[word]
    if effect.only is not None and when not in (effect.only, "never"):
        raise InvalidRulesetError(f"{field}.when: {when!r} is not possible for {word} ({effect.only}, never)")
    for key in row:
        if key not in _CARD_FIELDS and key not in effect.parameters:
            raise InvalidRulesetError(
                f"{field}.{key}: {row[key]!r} is set, but {word} has no such parameter ({listed(effect.parameters)})"
            )
    numbers: dict[str, int] = {}
    words: dict[str, str] = {}
    for key, default in effect.parameters.items():
        if key not in row and default is None:
            raise InvalidRulesetError(f"{field}.{key}: missing; {word} needs it")
        parameter = row.get(key, default)
        if key in RANGES:
            numbers[key] = _whole(parameter, f"{field}.{key}", *RANGES[key])
        elif key == "where":
            words[key] = _word(parameter, f"{field}.{key}", LOCATIONS)
        else:
            words[key] = _name(parameter, f"{field}.{key}")
            if not words[key]:
                raise InvalidRulesetError(f"{field}.{key}: '' is not a name")
    return Card(
        value=value,
        name=name,
        when=WHEN[when],
        deed=effect.deed,
        amount=numbers.get("amount", 0),
        who=words.get("who", ""),
        below=numbers.get("below", 0),
        where=words.get("where", ""),
        factor=numbers.get("factor", 0),
    )


def _name(value: object, field: str) -> str:
    if not isinstance(value, str) or len(value) > NAME_MAX:
        raise InvalidRulesetError(f"{field}: {value!r} is not a text of at most {NAME_MAX} characters")
    return value


def _read_rewards(value: object, defaults: Rewards) -> dict[str, dict[str, Entries]]:
    """Read rewards by location; an omitted number of players has the edition's."""
    if not isinstance(value, Mapping):
        raise InvalidRulesetError(
            f"ruleset.rewards: {value!r} is not a mapping from locations to lists ({listed(LOCATIONS)})"
        )
    rewards: dict[str, dict[str, Entries]] = {}
    for location, by_group in value.items():
        field = f"ruleset.rewards.{location}"
        if location not in LOCATIONS:
            raise InvalidRulesetError(f"{field}: {location!r} is not a location ({listed(LOCATIONS)})")
        if not isinstance(by_group, Mapping):
            rewards[location] = dict.fromkeys(GROUPS, _read_entries(by_group, field))
            continue
        for group in by_group:
            if group not in GROUPS:
                raise InvalidRulesetError(f"{field}.{group}: {group!r} is not a number of players ({listed(GROUPS)})")
        rewards[location] = {
            group: (
                _read_entries(by_group[group], f"{field}.{group}") if group in by_group else defaults[location][group]
            )
            for group in GROUPS
        }
    return rewards


def _read_entries(value: object, field: str) -> Entries:
    entries = _list(value, field, "rewards")
    if len(entries) > RANKS_MAX:
        raise InvalidRulesetError(f"{field}: {len(entries)} rewards; at most {RANKS_MAX} are possible")
    return tuple(_read_reward(entry, f"{field}[{rank}]") for rank, entry in enumerate(entries))


def _read_reward(entry: object, field: str) -> RewardEntry:
    if isinstance(entry, str) and entry in REWARDS:
        return RewardEntry(REWARDS[entry])
    if type(entry) is not int or not -99 <= entry <= 99:
        raise InvalidRulesetError(f"{field}: {entry!r} is neither a number in -99..99 nor one of {listed(REWARDS)}")
    return _number(entry)


# --- writing ---------------------------------------------------------------------------------------------------


def _write_card(card: Card) -> dict[str, object]:
    word = next(word for word, effect in EFFECTS.items() if effect.deed == card.deed)
    when = next(when for when, meaning in WHEN.items() if meaning == card.when)
    parameters = {key: getattr(card, key) for key in EFFECTS[word].parameters}
    return {"value": card.value, "name": card.name, "when": when, "effect": word, **parameters}


def _write_rewards(rewards: Rewards) -> dict[str, dict[str, list[int | str]]]:
    return {
        location: {group: [_write_reward(entry) for entry in entries] for group, entries in by_group.items()}
        for location, by_group in rewards.items()
    }


def _write_reward(entry: RewardEntry) -> int | str:
    if entry.kind == Reward.NUMBER:
        return entry.amount
    return next(word for word, kind in REWARDS.items() if kind == entry.kind)
