"""Make the requests of the service benchmark: views of random games, and the heaviest valid requests."""

from __future__ import annotations

import random
from collections.abc import Iterable

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import Game, Position, View, new_game
from engine_cy.record import Record
from server.codec import records, views
from solver import Budget, InvalidQuestionError, SearchQuestion

GAME = ("oriflamme", "en-2019", 4)
LONG = 10**6


def random_play(game: Game, seed: int, actions: int = LONG) -> tuple[Record, Position]:
    """Play at random, at most `actions` actions; return the record and its last position."""
    draw = random.Random(seed)
    start = position = game.deal(seed)
    played: list[str] = []
    while len(played) < actions and not position.is_over:
        action = draw.choice(position.legal_actions())
        played.append(str(action))
        position = position.play(action)
    return Record(start, tuple(played)), position


def is_choice(position: Position) -> bool:
    """Return whether a player is to act who has several moves."""
    return position.to_act is not None and position.to_act >= 0 and len(position.legal_actions()) > 1


# --- ordinary requests -----------------------------------------------------------------------------------------


def mixed_views(number: int) -> list[View]:
    """Return distinct views from any round of random games; the observer has a choice."""
    game = new_game(*GAME)
    chosen: dict[View, None] = {}
    seed = 0
    while len(chosen) < number:
        _, position = random_play(game, seed, random.Random(seed).randrange(80))
        if is_choice(position):
            chosen[position.view(position.to_act or 0)] = None
        seed += 1
    return list(chosen)


def second_round(seed: int) -> View:
    """Return the view of the player to act at the start of a second round; few seeds have equal ones."""
    position, draw = new_game(*GAME).deal(seed), random.Random(seed)
    while position.table.round == 1:
        position = position.play(draw.choice(position.legal_actions()))
    assert position.to_act is not None
    return position.view(position.to_act)


def question(seed: int, budget: pb.Budget) -> pb.SuggestRequest:
    return pb.SuggestRequest(view=views.write_view(second_round(seed)), budget=budget)


def timed(milliseconds: int) -> pb.Budget:
    budget = pb.Budget()
    budget.time.FromMilliseconds(milliseconds)
    return budget


# --- the heaviest ----------------------------------------------------------------------------------------------

# 986 moves: all five players kept their cards face down, and a Decree in the last round may move any of thirty.
CROWDED = (
    "A1:Assassination(6) B1:?(6) C1:?(6) D1:?(6) E1:?(6) B2:?(5) C2:?(5) D2:?(5) E2:?(5) A2:Shapeshifter(5) "
    "C3:?(4) D3:?(4) E3:?(4) A3:Lord(4) B3:?(4) D4:?(3) E4:?(3) A4:Ambush(3) B4:?(3) C4:?(3) "
    "E5:?(2) A5:Conspiracy(2) B5:?(2) C5:?(2) D5:?(2) >A6:Decree* B6:? C6:? D6:? E6:? "
    "| round 6 | first A | ask A move | points 1 1 1 1 1 | hands Soldier ? ? ? ? | piles - - - - - | seen by A"
)
COMPARED = 16
SHARES = 256


def crowded_view() -> View:
    return new_game("oriflamme", "en-2019", 5).view(CROWDED)


def compare_request(memory_bytes: int | None = None) -> pb.CompareRequest:
    """Compare the most moves in the most shares: 4,096 trees."""
    view = crowded_view()
    return pb.CompareRequest(
        view=views.write_view(view),
        actions=[views.write_action(action) for action in view.legal_actions()[:COMPARED]],
        budget=pb.Budget(iterations=SHARES, memory_bytes=memory_bytes),
        options=pb.Options(shares=SHARES),
    )


def shared_request(memory_bytes: int | None = None, iterations: int = SHARES) -> pb.SuggestRequest:
    """Search in the most shares that fit into the memory."""
    return pb.SuggestRequest(
        view=views.write_view(crowded_view()),
        budget=pb.Budget(iterations=iterations, memory_bytes=memory_bytes),
        options=pb.Options(shares=SHARES if memory_bytes is None else shares_that_fit(memory_bytes)),
    )


def shares_that_fit(memory_bytes: int) -> int:
    """Return the most shares that a search of the crowded view may have with this memory."""
    try:
        SearchQuestion(crowded_view(), Budget(memory_mb=memory_bytes / 2**20), shares=SHARES)
    except InvalidQuestionError as error:
        return int(error.accepted.rpartition(".")[2])
    return SHARES


def analyze_request(memory_bytes: int | None = None) -> pb.AnalyzeRequest:
    """Analyze hundreds of moves for a second, with partial answers at the shortest interval."""
    budget = timed(1_000)
    if memory_bytes is not None:
        budget.memory_bytes = memory_bytes
    request = pb.AnalyzeRequest(view=views.write_view(crowded_view()), budget=budget)
    request.interval.FromMilliseconds(50)
    return request


def review_request() -> pb.ReviewRequest:
    """Review all decisions of a long game of five players, with few iterations each."""
    record = longest_game(new_game("oriflamme", "en-2019", 5))
    return pb.ReviewRequest(record=records.write(record), budget=pb.Budget(iterations=20))


def history_request(record: Record) -> pb.SuggestRequest:
    """Ask about the last choice of a game, with the history of all actions before it."""
    tables = [table for table in record.tables() if isinstance(table, Position)]
    last = max(number for number, table in enumerate(tables) if is_choice(table))
    seen = Record(record.start, record.actions[:last]).seen_from(tables[last].to_act or 0)
    assert isinstance(seen.end, View)
    return pb.SuggestRequest(view=views.write_view(seen.end, seen), budget=pb.Budget(iterations=100))


def batch_requests(messages: Iterable[view_pb2.View]) -> list[pb.AnalyzeBatchRequest]:
    """Analyze each view with one iteration."""
    items = [
        pb.BatchItem(id=str(number), view=message, budget=pb.Budget(iterations=1))
        for number, message in enumerate(messages)
    ]
    return [pb.AnalyzeBatchRequest(item=item) for item in items]


def own_tables() -> Game:
    """Return the game with the longest known histories: Castle with 75 cards to place, most with two choices."""
    cards = [
        {
            "value": value,
            "name": f"Card {value}",
            "when": "immediate",
            "effect": "swap_selected" if value % 3 else "copy_neighbour",
        }
        for value in range(1, 16)
    ]
    numbers = {"rounds": 1, "turns_per_round": 15, "hand_size": 15}
    return new_game("castle_village_port", {"edition": "house", "cards": cards, **numbers}, 5)


def longest_game(game: Game, games: int = 100) -> Record:
    """Return the longest of some random games."""
    return max((random_play(game, seed)[0] for seed in range(games)), key=lambda record: len(record.actions))
