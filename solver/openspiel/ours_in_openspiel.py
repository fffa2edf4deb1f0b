"""Offer our games as OpenSpiel games, for its algorithms and bots. Needs the extra `openspiel`.

    from solver.openspiel import ours_in_openspiel
    ours_in_openspiel.register()
    game = pyspiel.load_game("eminence_oriflamme(ruleset=revised,players=4,first=1)")

**Parameters**: `ruleset`, an edition's name; `players`; `first`, the first player.

**Chance**: every deal is explicit. It consists of parts with few outcomes each: each family of Oriflamme sets cards
aside (120 ways), each deck of Castle, Village, Port is dealt card by card from the top, and poker uses the engine's own
chance actions. All probabilities are therefore exact, a history is complete and replays, and no state holds a random
generator. Whole deals would be 1.7 million outcomes for three players of Oriflamme. Deals drawn from a seed
(SAMPLED_STOCHASTIC) would avoid this, but algorithms that enumerate outcomes refuse such games.

**Actions** are whole decisions, numbered from 0 in an order that depends only on the ruleset and the number of players;
`action_to_string` writes them in our notation, and `string_to_action` reads it. Chance has numbers of its own.

**Returns**: the share of the win minus 1/players, so that returns add up to zero; in the two pokers chips, as usual.

**Strings**: the information state is a player's whole information, line by line as in a record (perfect recall); the
observation is the text of their view. There are no tensors.

**Bots**: an ISMCTS needs `resample_from_infostate`. OpenSpiel's Python bot calls it and plays all these games
(`ISMCTSBot` of `open_spiel.python.algorithms.ismcts`; `step` and `get_policy`). Its C++ bot cannot: OpenSpiel 2.0.2
does not forward the call to a game written in Python, and `pyspiel.ISMCTSBot.get_policy` fails with
"ResampleFromInfostate() not implemented". Do not call `step` of a C++ search on any game written in Python: it releases
the GIL, and the process crashes. `pyspiel.MCTSBot.mcts_search` holds the GIL and works, but it sees hidden information.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, Final, NamedTuple

import pyspiel

from engine_cy import Action, Game, Position, Rng, new_game
from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.editions import EDITIONS as CASTLE_EDITIONS
from engine_cy.oriflamme.editions import editions_of
from engine_cy.seats import SEATS
from engine_cy.toys.variants import VARIANTS

PREFIX: Final = "eminence_"
CHANCE: Final = int(pyspiel.PlayerId.CHANCE)
TERMINAL: Final = int(pyspiel.PlayerId.TERMINAL)

# A deal, as the outcomes of chance one after the other.
Deal = tuple[int, ...]


class Step(NamedTuple):
    """An action by its seat and number; CHANCE has numbers of its own."""

    seat: int
    number: int


# --- a game in OpenSpiel's terms ----------------------------------------------------------------------------------


class GameTerms(ABC):
    """A game of ours with a first player: its actions as numbers, its deal as outcomes of chance."""

    deal_size: int  # outcomes of a deal, before the first position
    max_outcomes: int  # of a choice of chance
    max_decisions: int  # of players in a game: an upper bound that no game reaches
    max_chances: int  # choices of chance in a game
    remembers = False  # whether a view contains all earlier observations
    shares = True  # whether payoffs are shares of a win

    def __init__(self, game: Game, first: int, texts: Sequence[str], chance: Sequence[str] = ()) -> None:
        self.game = game
        self.first = first
        self.actions = [game.action(text) for text in texts]
        self.texts = [str(action) for action in self.actions]
        self.numbers = {action: number for number, action in enumerate(self.actions)}
        self.chance = [game.action(text) for text in chance]
        self.outcome_numbers = {action: number for number, action in enumerate(self.chance)}
        self.root = HistoryNode(self, None, 0, (), None)

    @abstractmethod
    def start(self, deal: Deal) -> Position:
        """Return the position after a finished deal."""

    @abstractmethod
    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        """Return a deal and actions that lead to `world` with the same observations of `player` on the way.

        `player` cannot distinguish `world` from the position after `deal` and `steps`.
        """

    # For games with a deal before the first position:

    def outcomes(self, deal: Deal) -> Sequence[int]:
        """Return the possible next outcomes of an unfinished deal, all equally likely."""
        raise NotImplementedError

    def outcome_text(self, deal: Deal, outcome: int) -> str:
        raise NotImplementedError

    def deal_text(self, deal: Deal, player: int) -> str:
        """Return the text of a deal, perhaps unfinished, as `player` sees it."""
        raise NotImplementedError

    @property
    def utility_range(self) -> tuple[float, float]:
        return -1 / self.game.n_players, 1 - 1 / self.game.n_players

    def __reduce__(self) -> tuple[Any, ...]:
        return terms_of, (self.game.id, self.game.spec[1], self.game.n_players, self.first)


class PokerTerms(GameTerms):
    """Poker: the engine deals by actions of chance, and a view contains the history."""

    deal_size = 0
    remembers = True
    shares = False

    def __init__(self, game: Game, first: int) -> None:
        variant = VARIANTS[game.id]
        rounds = len(variant.raise_sizes)
        self.cards = {name: number for number, name in enumerate(variant.cards)}
        self.max_outcomes = len(variant.cards)
        self.max_decisions = rounds * (2 + variant.raises_max)
        self.max_chances = 1 + rounds
        self.stake = 1 + variant.raises_max * sum(variant.raise_sizes)
        moves = ("pass", "bet") if variant.pass_or_bet else ("fold", "call", "raise")
        super().__init__(game, first, moves, [f"deal {name}" for name in variant.cards])

    @property
    def utility_range(self) -> tuple[float, float]:
        return -self.stake, self.stake

    def start(self, deal: Deal) -> Position:
        return self.game.deal(0, self.first)

    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        numbers = [step.number for step in steps]
        # Seat A's card is dealt first, then seat B's.
        for seat, card in enumerate(world.table.cards):
            if seat < len(numbers):
                numbers[seat] = self.cards[card]
        return (), numbers


class OriflammeTerms(GameTerms):
    """Oriflamme: the outcomes of the deal are the cards that each family sets aside."""

    def __init__(self, game: Game, first: int) -> None:
        frame: Any = game.frame  # type: ignore[attr-defined]
        n, slots = frame.n_players, frame.n_players * frame.cards_each
        self.copies: int = frame.copies
        self.kinds = {card.id: kind for kind, card in enumerate(frame.cards)}
        self.names = [card.name for card in frame.cards]
        aside = len(frame.cards) - frame.hand_size // frame.copies
        self.asides = list(combinations(range(len(frame.cards)), aside))
        self.aside_numbers = {kinds: number for number, kinds in enumerate(self.asides)}
        self.deal_size = self.max_chances = n * frame.copies
        self.max_outcomes = len(self.asides)
        # At each slot, the cursor asks at most three questions: whether to reveal, the card to copy, and the choice of
        # its effect. It returns to a card that was moved on by a Decree or a copy of one; each does so once.
        visits = sum(n * frame.cards_per_turn * r for r in range(1, frame.n_rounds + 1)) + frame.n_rounds * 2 * n
        self.max_decisions = slots + 3 * visits
        # Placements come first, grouped by card: `rebuild` depends on it.
        places = ["front", "back", *(f"on {slot}" for slot in range(slots))]
        self.n_places = len(places)
        self.n_placements = len(places) * len(self.names)
        super().__init__(
            game,
            first,
            [
                *(f"place {name} {place}" for name in self.names for place in places),
                *("reveal", "keep"),
                *(f"target {slot}" for slot in range(slots)),
                *(f"rob {seat}" for seat in game.seats),
                *(f"copy {slot}" for slot in range(slots)),
                *(f"move {slot} to {gap}" for slot in range(slots) for gap in range(slots + 1)),
                *(f"move {slot} on {other}" for slot in range(slots) for other in range(slots)),
                *(f"pair {near} {far}" for near, far in combinations(range(slots), 2)),
            ],
        )

    def outcomes(self, deal: Deal) -> Sequence[int]:
        return range(len(self.asides))

    def outcome_text(self, deal: Deal, outcome: int) -> str:
        return f"aside {SEATS[len(deal) // self.copies]} {','.join(self.aside([outcome]))}"

    def aside(self, outcomes: Sequence[int]) -> list[str]:
        return [self.names[kind] for outcome in outcomes for kind in self.asides[outcome]]

    def start(self, deal: Deal) -> Position:
        return self.game.start([self.aside(own) for own in self.by_seat(deal)], self.first)

    def by_seat(self, deal: Deal) -> list[Deal]:
        return [deal[seat * self.copies :][: self.copies] for seat in range(self.game.n_players)]

    def deal_text(self, deal: Deal, player: int) -> str:
        # If one hand holds two families, no player knows from which family a card was set aside.
        own = sorted(kind for outcome in self.by_seat(deal)[player] for kind in self.asides[outcome])
        return f"aside {SEATS[player]} {','.join(self.names[kind] for kind in own)}"

    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        table = world.table
        # Cards that left the queue are public; cards in the queue are those of `world`.
        in_queue = {(card.family, card.nth): self.kinds[card.card] for slot in table.slots for card in slot}
        placed = Counter[int]()
        numbers = []
        for seat, number in steps:
            if number < self.n_placements:
                placed[seat] += 1
                kind = in_queue.get((seat, placed[seat]), number // self.n_places)
                number = kind * self.n_places + number % self.n_places
            numbers.append(number)
        rebuilt = [
            own if seat == player else self.split(self.left_over(table, seat))
            for seat, own in enumerate(self.by_seat(deal))
        ]
        return tuple(outcome for own in rebuilt for outcome in own), numbers

    def left_over(self, table: Any, seat: int) -> Counter[int]:
        """Return the cards that `seat` must have set aside."""
        left = Counter(dict.fromkeys(self.kinds.values(), self.copies))
        left.subtract(self.kinds[card] for card in (*table.hands[seat], *table.piles[seat]))
        left.subtract(self.kinds[card.card] for slot in table.slots for card in slot if card.family == seat)
        return left

    def split(self, aside: Counter[int]) -> Deal:
        """Split the cards set aside between the families; one of each pair goes to each family."""
        if self.copies == 1:
            return (self.aside_numbers[tuple(sorted(aside.elements()))],)
        twice = [kind for kind, count in aside.items() if count == 2]
        once = [kind for kind, count in aside.items() if count == 1]
        half = len(once) // 2
        return tuple(self.aside_numbers[tuple(sorted([*twice, *part]))] for part in (once[:half], once[half:]))


class CastleTerms(GameTerms):
    """Castle, Village, Port: each deck is dealt from the top, before the first draw; its last card is implied."""

    def __init__(self, game: Game, first: int) -> None:
        frame: Any = game.frame  # type: ignore[attr-defined]
        n = frame.n_players
        self.frame = frame
        self.values: list[int] = sorted(frame.values)
        self.number_of = {value: number for number, value in enumerate(self.values)}
        self.each = len(self.values) - 1
        self.deal_size = n * self.each
        self.max_outcomes = len(self.values)
        plays = n * frame.n_rounds * frame.n_turns
        # A card acts when it is placed, and at the end of a round at most once in each location. It asks at most two
        # questions, the card to copy and the choice of its effect, or one and one of chance.
        acts = plays * (1 + frame.n_rounds * len(LOCATIONS))
        self.max_chances = self.deal_size + acts
        self.max_decisions = 2 * plays + 2 * acts
        cards = [f"{value}{seat}" for seat in game.seats for value in self.values]
        places = [f"{location} {index}" for location in LOCATIONS for index in range(plays)]
        # Selections come first, then placements, then swaps: `rebuild` depends on it.
        self.n_selections = len(self.values)
        self.first_swap = len(self.values) + len(places)
        super().__init__(
            game,
            first,
            [
                *(f"select {value}" for value in self.values),
                *(f"place {place}" for place in places),
                *(f"swap {seat}" for seat in game.seats),
                *(f"rob {seat}" for seat in game.seats),
                *(f"order {seat} {location}" for seat in game.seats for location in LOCATIONS),
                *(f"copy {card}" for card in cards),
                *(f"discard {card}" for card in cards),
                *(f"move {card} to {place}" for card in cards for place in places),
            ],
            [f"replace {value}" for value in self.values],
        )

    def outcomes(self, deal: Deal) -> Sequence[int]:
        own = deal[len(deal) // self.each * self.each :]
        return [number for number in range(len(self.values)) if number not in own]

    def outcome_text(self, deal: Deal, outcome: int) -> str:
        return f"deck {SEATS[len(deal) // self.each]} {self.values[outcome]}"

    def deck(self, deal: Deal, seat: int) -> list[int]:
        """Return the numbers of a seat's cards dealt so far, top first, with the last one once it is implied."""
        own = deal[seat * self.each :][: self.each]
        return [*own, *(set(range(len(self.values))) - set(own) if len(own) == self.each else ())]

    def start(self, deal: Deal) -> Position:
        decks = [[self.values[number] for number in self.deck(deal, seat)] for seat in range(self.game.n_players)]
        return self.game.start(decks, self.first)

    def deal_text(self, deal: Deal, player: int) -> str:
        hand = sorted(self.deck(deal, player)[: self.frame.drawn(1)], reverse=True)
        return f"hand {SEATS[player]} {','.join(str(self.values[number]) for number in hand)}"

    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        table = world.table
        numbers = [step.number for step in steps]
        rebuilt: list[int] = []
        for seat, turns in enumerate(self.turns(steps)):
            deck = [self.number_of[value] for value in table.decks[seat]]
            if seat == player:
                drawn = self.deck(deal, seat)[: len(self.values) - len(deck)]
            else:
                # Draw the revealed cards first: that is always early enough.
                selected = [table.selected[seat]] if table.selected[seat] else []
                drawn = [steps[turn[-1]].number for turn in (turns[:-1] if selected else turns)]
                drawn += [self.number_of[value] for value in (*selected, *table.hands[seat])]
                self.reselect(numbers, turns, drawn)
            rebuilt += [*drawn, *deck][: self.each]
        return tuple(rebuilt), numbers

    def turns(self, steps: list[Step]) -> list[list[list[int]]]:
        """Return, for each seat and turn, the indices of the steps that set its selected card.

        The first is the selection; each replacement by chance adds one.
        """
        turns: list[list[list[int]]] = [[] for _ in range(self.game.n_players)]
        victim = 0
        for i, (seat, number) in enumerate(steps):
            if seat == CHANCE:
                turns[victim][-1].append(i)
            elif number < self.n_selections:
                turns[seat].append([i])
            elif self.first_swap <= number < self.first_swap + self.game.n_players:
                victim = number - self.first_swap
        return turns

    def reselect(self, numbers: list[int], turns: list[list[int]], drawn: list[int]) -> None:
        """Change the steps of a seat so that each turn ends with the card played: the turns play `drawn` in order.

        A selection before a Courtesan's swap stays as it was if possible.
        """
        for t, turn in enumerate(turns):
            held = drawn[t : self.frame.drawn(1 + t // self.frame.n_turns)]
            later = drawn[t]
            numbers[turn[-1]] = later
            for i in reversed(turn[:-1]):
                if numbers[i] == later or numbers[i] not in held:
                    numbers[i] = next(number for number in held if number != later)
                later = numbers[i]


@lru_cache(maxsize=32)
def terms_of(game_id: str, ruleset: str, players: int, first: int) -> GameTerms:
    return REGISTRATIONS[game_id].terms(new_game(game_id, ruleset, players), first)


class Registration(NamedTuple):
    """The data that registers a game with OpenSpiel."""

    terms: Callable[[Game, int], GameTerms]
    long_name: str
    ruleset: str  # the default
    players: int  # the default
    least: int
    most: int


REGISTRATIONS: Final = {
    "oriflamme": Registration(OriflammeTerms, "Oriflamme", editions_of("oriflamme")[0], 3, 3, 5),
    "oriflamme_prototype": Registration(
        OriflammeTerms, "Oriflamme, the prototype", editions_of("oriflamme_prototype")[0], 3, 2, 4
    ),
    "castle_village_port": Registration(CastleTerms, "Castle, Village, Port", next(iter(CASTLE_EDITIONS)), 3, 3, 5),
    "kuhn_poker": Registration(PokerTerms, "Kuhn poker of Eminence", "standard", 2, 2, 2),
    "leduc_poker": Registration(PokerTerms, "Leduc poker of Eminence", "standard", 2, 2, 2),
}


# --- the course of a game -----------------------------------------------------------------------------------------


class HistoryNode:
    """A node of a game's history, linked to those before it. It is immutable, so that cloned states share it."""

    __slots__ = ("_information", "_options", "before", "deal", "number", "player", "position", "terms")

    def __init__(
        self, terms: GameTerms, before: HistoryNode | None, number: int, deal: Deal, position: Position | None
    ) -> None:
        self.terms = terms
        self.before = before
        self.number = number  # of the action taken at `before`
        self.deal = deal
        if position is None and len(deal) == terms.deal_size:
            position = terms.start(deal)
        self.position = position  # None while the deal is not finished
        seat = CHANCE if position is None else position.to_act
        self.player: int = TERMINAL if seat is None else seat
        self._options: list[int] | None = None
        self._information: dict[int, str] = {}

    def options(self) -> list[int]:
        """Return the numbers of the legal actions, in order."""
        if self._options is None:
            if self.position is None:
                self._options = list(self.terms.outcomes(self.deal))
            else:
                numbers = self.terms.outcome_numbers if self.player == CHANCE else self.terms.numbers
                self._options = sorted([numbers[action] for action in self.position.legal_actions()])
        return self._options

    def after(self, number: int) -> HistoryNode:
        if self.position is None:
            if number not in self.options():
                raise ValueError(f"outcome: {number} is not possible after {self}")
            return HistoryNode(self.terms, self, number, (*self.deal, number), None)
        return HistoryNode(self.terms, self, number, self.deal, self.position.play(self.action(number)))

    def action(self, number: int) -> Action:
        """Return our action with this number."""
        actions = self.terms.chance if self.player == CHANCE else self.terms.actions
        if not 0 <= number < len(actions):
            raise ValueError(f"action: {number} is not in 0..{len(actions) - 1}")
        return actions[number]

    def text(self, player: int, number: int) -> str:
        if player != CHANCE:
            return self.terms.texts[number]
        elif self.position is None:
            return self.terms.outcome_text(self.deal, number)
        return str(self.terms.chance[number])

    def information(self, player: int) -> str:
        """Return the information state of `player`: a line for each observation. Results are cached in the nodes."""
        missing: list[HistoryNode] = []
        node = self
        while player not in node._information:
            if node.before is None or node.before.position is None or self.terms.remembers:
                node._information[player] = node.beginning(player)
            else:
                missing.append(node)
                node = node.before
        for after in reversed(missing):
            after._information[player] = f"{node._information[player]}\n{node.line(after.number, player)}"
            node = after
        return self._information[player]

    def beginning(self, player: int) -> str:
        """Return the first information of `player`: their part of the deal, or the view if there was no deal."""
        return self.terms.deal_text(self.deal, player) if self.deal else self.observation(player)

    def line(self, number: int, player: int) -> str:
        """Return the observation of `player` of the action `number`, taken here."""
        assert self.position is not None
        seat = "*" if self.player == CHANCE else SEATS[self.player]
        return f"{seat} {self.position.seen(self.action(number), player)}"

    def observation(self, player: int) -> str:
        """Return the current view of `player`, as text."""
        return self.terms.deal_text(self.deal, player) if self.position is None else str(self.position.view(player))

    def returns(self) -> list[float]:
        if self.position is None or self.player != TERMINAL:
            return [0.0] * self.terms.game.n_players
        mean = 1 / self.terms.game.n_players if self.terms.shares else 0
        return [paid - mean for paid in self.position.payoffs]

    def path(self) -> list[HistoryNode]:
        """Return all nodes, from the first to this one."""
        nodes = [self]
        while (before := nodes[-1].before) is not None:
            nodes.append(before)
        return nodes[::-1]

    def __deepcopy__(self, memo: object) -> HistoryNode:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        first, *rest = self.path()
        start = None if first is self.terms.root else first.position
        return _replay, (self.terms, start, first._information if start else {}, [node.number for node in rest])

    def __str__(self) -> str:
        if self.position is not None:
            return str(self.position)
        texts = [node.before.text(CHANCE, node.number) for node in self.path() if node.before is not None]
        return " | ".join(texts) or "the deal"


def _start_at(terms: GameTerms, position: Position, information: dict[int, str]) -> HistoryNode:
    """Start a game at `position`, with the earlier information of the players."""
    node = HistoryNode(terms, None, 0, (), position)
    node._information.update(information)
    return node


def _replay(terms: GameTerms, start: Position | None, information: dict[int, str], numbers: list[int]) -> HistoryNode:
    node = terms.root if start is None else _start_at(terms, start, information)
    for number in numbers:
        node = node.after(number)
    return node


# --- the interface of OpenSpiel -----------------------------------------------------------------------------------


class EminenceGame(pyspiel.Game):  # type: ignore[misc]
    """One of our games, as OpenSpiel's `Game`."""

    game_id: str

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        defaults = REGISTRATIONS[self.game_id]
        arguments = {"ruleset": defaults.ruleset, "players": defaults.players, "first": 0, **(params or {})}
        players, first = arguments["players"], arguments["first"]
        if not 0 <= first < players:
            raise ValueError(f"first: {first} is not in 0..{players - 1}")
        self.terms = terms = terms_of(self.game_id, arguments["ruleset"], players, first)
        lowest, highest = terms.utility_range
        info = pyspiel.GameInfo(
            num_distinct_actions=len(terms.actions),
            max_chance_outcomes=terms.max_outcomes,
            num_players=players,
            min_utility=lowest,
            max_utility=highest,
            utility_sum=0.0,
            max_game_length=terms.max_decisions,
        )
        super().__init__(_game_type(self.game_id), info, arguments)

    def new_initial_state(self) -> EminenceState:
        return EminenceState(self)

    def max_chance_nodes_in_history(self) -> int:
        return self.terms.max_chances

    def action_to_string(self, player: int, number: int) -> str:
        return self.terms.root.text(player, number)

    def make_py_observer(self, kind: Any = None, params: Any = None) -> EminenceObserver | None:
        """Return an observer of one player's information; None for a kind with only its public or private part."""
        if params:
            raise ValueError(f"observer: {params} are not possible; an observer has no parameters")
        kind = kind or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            return None
        return EminenceObserver(kind.perfect_recall)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (str(self),)


# A class for each game, not a factory function: OpenSpiel releases its reference after Python has shut down, which
# crashes unless another reference exists. A class refers to itself.


class OriflammeGame(EminenceGame):
    game_id = "oriflamme"


class PrototypeGame(EminenceGame):
    game_id = "oriflamme_prototype"


class CastleGame(EminenceGame):
    game_id = "castle_village_port"


class KuhnGame(EminenceGame):
    game_id = "kuhn_poker"


class LeducGame(EminenceGame):
    game_id = "leduc_poker"


GAMES: Final = (OriflammeGame, PrototypeGame, CastleGame, KuhnGame, LeducGame)


class EminenceState(pyspiel.State):  # type: ignore[misc]
    """A node of a game's history, as OpenSpiel's `State`."""

    # OpenSpiel copies and pickles the attributes one by one, so there is only one.
    _node: HistoryNode

    def __init__(self, game: EminenceGame) -> None:
        super().__init__(game)
        self._node = game.terms.root

    def current_player(self) -> int:
        return self._node.player

    def is_terminal(self) -> bool:
        return self._node.player == TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return self._node.options()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        outcomes = self._node.options()
        return [(outcome, 1 / len(outcomes)) for outcome in outcomes]

    def _apply_action(self, action: int) -> None:
        self._node = self._node.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return self._node.text(player, action)

    def returns(self) -> list[float]:
        return self._node.returns()

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> EminenceState:
        """Draw a state that `player` cannot distinguish from this one; worlds that fit the view are equally likely.

        Its history leads there with the same observations of `player` on the way; it is any of several such histories.
        A state made by `from_position` has no history, so the drawn state starts at the world, without history.
        """
        node = self._node
        if node.position is None:
            raise ValueError("resample: the deal is not finished")
        world = node.position.view(player).sample_world(Rng(int(sampler() * 2**53)))
        game: EminenceGame = self.get_game()
        state = game.new_initial_state()
        first, *rest = node.path()
        if first is not node.terms.root:
            state._node = _start_at(node.terms, world, {player: node.information(player)})
            return state
        steps = [Step(n.before.player, n.number) for n in rest if n.before is not None and n.before.position]
        deal, numbers = node.terms.rebuild(node.deal, steps, world, player)
        for number in (*deal, *numbers):
            state.apply_action(number)
        if state._node.position != world:
            raise AssertionError(f"resample: {deal} and {numbers} lead to {state}, not to {world}")
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_state, (str(self.get_game()), self.serialize())

    def __str__(self) -> str:
        return str(self._node)


class EminenceObserver:
    """An observer that writes one player's information as text."""

    tensor = None

    def __init__(self, perfect_recall: bool) -> None:
        self.perfect_recall = perfect_recall
        self.dict: dict[str, Any] = {}

    def set_from(self, state: EminenceState, player: int) -> None:
        """Do nothing: there is no tensor to write."""

    def string_from(self, state: EminenceState, player: int) -> str:
        return state._node.information(player) if self.perfect_recall else state._node.observation(player)


@cache
def _game_type(game_id: str) -> Any:
    registration = REGISTRATIONS[game_id]
    return pyspiel.GameType(
        short_name=PREFIX + game_id,
        long_name=registration.long_name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=registration.most,
        min_num_players=registration.least,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=False,
        parameter_specification={"ruleset": registration.ruleset, "players": registration.players, "first": 0},
    )


# --- functions for callers ----------------------------------------------------------------------------------------


def register() -> list[str]:
    """Make our games known to `pyspiel.load_game`; return their names. Calling it again does nothing."""
    known = set(pyspiel.registered_names())
    types = [_game_type(game.game_id) for game in GAMES]
    for game_type, game in zip(types, GAMES, strict=True):
        if game_type.short_name not in known:
            pyspiel.register_game(game_type, game)
    return [game_type.short_name for game_type in types]


def _load(name: str) -> EminenceGame:
    register()
    game: EminenceGame = pyspiel.load_game(name)
    return game


def _load_state(name: str, text: str) -> EminenceState:
    state: EminenceState = _load(name).deserialize_state(text)
    return state


def as_position(state: EminenceState) -> Position:
    """Return the position of a state of one of our games."""
    if state._node.position is None:
        raise ValueError("state: the deal is not finished")
    return state._node.position


def from_position(position: Position) -> EminenceState:
    """Make a state at any position; it has no history, and its players remember nothing but their view."""
    game_id, ruleset, players = position.game.spec
    if game_id not in REGISTRATIONS or not isinstance(ruleset, str):
        raise ValueError(f"position: of {game_id} under {ruleset}; only the editions have a name in OpenSpiel")
    register()
    game = pyspiel.load_game(PREFIX + game_id, {"ruleset": ruleset, "players": players})
    state: EminenceState = game.new_initial_state()
    state._node = _start_at(state._node.terms, position, {})
    return state
