"""The descriptors of the contract: no field for hidden cards, a reason for each refusal, compatible changes."""

from __future__ import annotations

import ast
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from messages import damaged, reachable
from mutations import SPECS
from program import ROOT
from tables import ALL_IDS, ALL_SPECS, random_game

from eminence.v1 import error_reason_pb2, oriflamme_pb2, record_pb2, referee_pb2, solver_pb2, view_pb2
from engine_cy import View, new_game
from server.codec import views
from server.refusals import Refusal
from server.rpc import status

SOLVER = solver_pb2.DESCRIPTOR.services_by_name["SolverService"]

# Every field of a View that holds a card, and the players who see that card. A new field must be listed here.
ALL = "all players"
OBSERVER = "the observer"
SEEN_BY = {
    "OriflammeTable.acting": ALL,
    "OriflammePlayedCard.card": ALL,
    "OriflammeCards.cards": ALL,  # piles
    "OriflammeSecrets.hand": OBSERVER,
    "OriflammeSecrets.face_down": OBSERVER,
    "OriflammePlace.card": OBSERVER,  # an opponent's card is refused: the observer's next view would not follow
    "Card.name": OBSERVER,  # shown by an action
    "Card.oriflamme": OBSERVER,
    "Card.castle_village_port": OBSERVER,
    "CastleVillagePortTable.effect": ALL,
    "CastleVillagePortRowCard.value": ALL,
    "CastleVillagePortValues.values": ALL,  # piles
    "CastleVillagePortSecrets.hand": OBSERVER,
    "CastleVillagePortSecrets.selected": OBSERVER,
    "CastleVillagePortSelect.card": OBSERVER,
    "CastleVillagePortReplace.card": OBSERVER,
}
# Numbers and texts of a View, without cards. The parser checks text.
NO_CARDS = {
    *("OriflammeTable.round", "OriflammeTable.cursor", "OriflammeTable.points", "OriflammeTable.hand_sizes"),
    *("OriflammePlayedCard.tokens", "OriflammePlayedCard.nth", "OriflammePlace.on", "OriflammeTarget.slot"),
    *("OriflammeCopy.slot", "OriflammeMove.slot", "OriflammeMove.to", "OriflammeMove.on"),
    *("OriflammePair.slot", "OriflammePair.other"),
    *("CastleVillagePortTable.round", "CastleVillagePortTable.turn", "CastleVillagePortTable.gold"),
    *("CastleVillagePortTable.remembered_gold", "CastleVillagePortTable.hand_sizes"),
    *("CastleVillagePortTable.deck_sizes", "CastleVillagePortPlace.index", "CastleVillagePortMove.index"),
    *("View.text", "History.text", "Action.text"),
    *("Any.type_url", "Any.value"),  # a message of a game outside the contract, of the class that its adapter names
}


def test_a_view_has_no_field_for_the_hidden_cards_of_others() -> None:
    rules = reachable(view_pb2.GameSpec.DESCRIPTOR)
    del rules["google.protobuf.Any"]
    fields = set()
    for name, message in reachable(view_pb2.View.DESCRIPTOR).items():
        if name in rules:
            continue  # a ruleset lists the cards, not their places
        for field in message.fields:
            is_card = field.enum_type is oriflamme_pb2.OriflammeCard.DESCRIPTOR
            is_plain = (
                field.enum_type is None and field.message_type is None and field.type != FieldDescriptor.TYPE_BOOL
            )
            if is_card or is_plain:
                fields.add(f"{message.name}.{field.name}")
    assert fields == set(SEEN_BY) | NO_CARDS


def test_a_view_has_one_place_for_secrets_those_of_the_observer() -> None:
    for name in ("OriflammeSecrets", "CastleVillagePortSecrets"):
        holders = [
            field
            for message in reachable(view_pb2.View.DESCRIPTOR).values()
            for field in message.fields
            if field.message_type is not None and field.message_type.name == name
        ]
        assert [(field.name, field.is_repeated) for field in holders] == [("own", False)]


def hides(view: View) -> bool:
    """Return whether a view holds no hidden card of another seat.

    Neither its words do, nor its bytes: they are those of any world that fits, after its hidden cards are erased.
    """
    others = [seat for seat in range(view.game.n_players) if seat != view.observer]
    if any(view.parts.secrets_of(seat) is not None for seat in others):
        return False
    return bytes(view.sample_world(1).view(view.observer)) == bytes(view)


@pytest.mark.parametrize("spec", SPECS, ids=[*ALL_IDS, "sent-3p"])
def test_no_damaged_view_message_reveals_a_hidden_card(spec: Any) -> None:
    """Damage messages at random; the views that are still accepted hide as much as before."""
    draw = random.Random(11)
    accepted = changed = 0
    game = new_game(*spec)
    for position in [position for seed in range(2) for position, _ in random_game(game, seed)]:
        for seat in range(position.game.n_players):
            message = views.write_view(position.view(seat))
            for _ in range(2):
                try:
                    view = views.read_view(damaged(message, draw))
                except Refusal:
                    continue
                accepted += 1
                changed += view != position.view(seat)
                assert hides(view)
    assert accepted > 50
    assert changed > 3


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_text_that_names_a_hidden_card_is_refused_by_its_field(spec: Any) -> None:
    n_hidden = 0
    for position, _ in random_game(new_game(*spec), 4):
        text = str(position)
        for seat in position.game.seats:
            message = view_pb2.View(game=views.write_view(position.view(seat)).game, text=f"{text} | seen by {seat}")
            with pytest.raises(Refusal) as refused:
                views.read_view(message)
            assert refused.value.field == "view.text"
            n_hidden += refused.value.reason == "HIDDEN_CARD"
    assert n_hidden > 10


def test_no_request_to_the_adviser_can_hold_a_position() -> None:
    referee = {name for name in reachable(referee_pb2.Position.DESCRIPTOR) if "Position" in name}
    assert {"eminence.v1.Position", "eminence.v1.OriflammePosition", "eminence.v1.CastleVillagePortPosition"} <= referee
    for method in SOLVER.methods:
        messages = reachable(method.input_type)
        assert not referee & set(messages)
        # No message of referee.proto.
        assert not {name for name, message in messages.items() if message.file.name.endswith("referee.proto")}


def test_only_reviews_and_their_reports_accept_a_whole_game() -> None:
    whole_game = record_pb2.WholeGame.DESCRIPTOR.full_name
    methods = {method.name for method in SOLVER.methods if whole_game in reachable(method.input_type)}
    assert methods == {"Review", "WriteReport"}


def imported(path: Path) -> set[str]:
    """Return the last component of each module and name that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.rpartition(".")[2] for name in names}


def test_only_the_referee_and_the_command_line_read_positions() -> None:
    secret = {"positions", "referee_pb2", "referee_pb2_grpc"}
    server = [path for path in (ROOT / "server").rglob("*.py") if path.parent.name != "client"]
    readers = {path.name for path in server if imported(path) & secret}
    # The command line reads its user's own files and passes views on.
    assert readers == {"positions.py", "referee.py", "inputs.py"}


def test_every_reason_of_the_server_is_in_the_contract() -> None:
    used = set(status._CODES)
    for path in (ROOT / "server").rglob("*.py"):
        used |= set(re.findall(r'Refusal\(\s*"(\w+)"', path.read_text("utf-8")))
    known = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name}
    assert len(used) > 15
    assert used <= known


def test_the_contract_documents_the_status_code_of_each_reason() -> None:
    text = (ROOT / "proto/eminence/v1/error_reason.proto").read_text("utf-8")
    documented = re.findall(r"  // ([A-Z_]+): (?:(?!\n  E).|\n)*?\n  ERROR_REASON_(\w+) = ", text)
    assert len(documented) == len(error_reason_pb2.ErrorReason.DESCRIPTOR.values) - 1
    for code, reason in documented:
        assert status.code_of(Refusal(reason, "", "")) == code


# --- style and compatibility, by buf ---------------------------------------------------------------------------


LEVEL = "\n  int32 level = 3;\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Copy the files that .ci/contract checks."""
    for name in ("proto", ".ci"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*_pb2*", "__pycache__"))
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/buf").symlink_to(Path(sys.executable).parent / "buf")
    return tmp_path


def contract(tree: Path) -> tuple[int, str]:
    result = subprocess.run([tree / ".ci/contract"], capture_output=True, text=True, check=False, timeout=60)
    return result.returncode, result.stdout + result.stderr


def edit(tree: Path, old: str, new: str) -> None:
    path = tree / "proto/eminence/v1/solver.proto"
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def test_the_contract_is_in_style_and_compatible_with_the_last_release(tree: Path) -> None:
    assert contract(tree) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (LEVEL, "", "was deleted"),
        ("  int32 level = 3;", "  int64 level = 3;", "changed type"),
        ("  int32 level = 3;", "  int32 strength = 3;", "changed name"),
        ("  // The search is still running.\n", "", "should have a non-empty comment"),
        ("  int32 level = 3;", "  int32 Level = 3;", "should be lower_snake_case"),
    ],
    ids=["deleted field", "changed type", "changed name", "no comment", "bad style"],
)
def test_an_incompatible_or_badly_styled_contract_is_refused(tree: Path, old: str, new: str, error: str) -> None:
    edit(tree, old, new)
    code, text = contract(tree)
    assert code != 0
    assert error in text
