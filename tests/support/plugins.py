"""Packages of games, installed into a folder of their own, and games whose code fails."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The ids are those of the classes in `FAULTY`.
FAULTS = ("raising", "hanging", "exiting", "allocating", "nonsense", "leaving")
FAULTY = '''\
"""Liar's Dice with faults: bids are wrong, each in its way."""

import os

from liars_dice import LiarsDice


class Faulty(LiarsDice):
    def apply(self, state, action):
        if action.startswith("bid"):
            self.fail()
        return super().apply(state, action)


class Raising(Faulty):
    def fail(self):
        raise KeyError("joker")


class Hanging(Faulty):
    def fail(self):
        while True:
            pass


class Exiting(Faulty):
    def fail(self):
        os._exit(7)


class Leaving(Faulty):
    def fail(self):
        raise SystemExit(3)


class Allocating(Faulty):
    def fail(self):
        rest = []
        while True:
            rest.append(bytes(2**26))


class Nonsense(LiarsDice):
    def payoffs(self, state):
        return ["all", "nothing"]
'''
# A game with a message class of its own for views: the text without its observer, and the observer.
TYPED = """\
from types import SimpleNamespace

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import GetMessageClass
from liars_dice import LiarsDice  # noqa: F401

from server.games.adapter import GameAdapter, Names

file = descriptor_pb2.FileDescriptorProto(name="typed_games.proto", package="dice", syntax="proto3")
view = file.message_type.add(name="DiceView")
view.field.add(name="table", number=1, type=9, label=1)
view.field.add(name="observer", number=2, type=9, label=1)
descriptor_pool.Default().Add(file)
DiceView = GetMessageClass(descriptor_pool.Default().FindMessageTypeByName("dice.DiceView"))


class DiceAdapter(GameAdapter):
    no_message = SimpleNamespace(message=None)
    plans = SimpleNamespace(
        view=SimpleNamespace(message=DiceView), position=no_message, deal=no_message, actions=no_message
    )

    def __init__(self, game_id):
        super().__init__(game_id, Names("Typed dice", "Des types", "Typwuerfel"))

    def read_view(self, game, message, field, known):
        return game.view(f"{message.table} | seen by {message.observer}")

    def write_view(self, view):
        table, _, observer = str(view).partition(" | seen by ")
        return DiceView(table=table, observer=observer)
"""
HUNG_MODULE = "while True:\n    pass\n"


def install(folder: Path, package: str, games: Mapping[str, str], adapters: Mapping[str, str] | None = None) -> None:
    """Install version 1.2 of a package into a folder on the path. Its games are classes by id, as "module:Class"."""
    info = folder / f"{package}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    groups = {"eminence.games": games, "eminence.adapters": adapters or {}}
    lines = [line for group, entries in groups.items() for line in (f"[{group}]", *_entries(entries))]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def _entries(entries: Mapping[str, str]) -> list[str]:
    return [f"{name} = {value}" for name, value in entries.items()]


def install_games(folder: Path, *, hung: bool = False) -> dict[str, str]:
    """Install Liar's Dice and games with faults, with `hung` also one whose import hangs; return the environment."""
    install(folder, "dice-games", {"liars_dice": "liars_dice:LiarsDice"})
    install(folder, "faulty-games", {fault: f"faulty_games:{fault.capitalize()}" for fault in FAULTS})
    games = {"missing": "no_such_module:Game"} | ({"hung": "hung_games:Game"} if hung else {})
    install(folder, "hung-games", games)
    (folder / "faulty_games.py").write_text(FAULTY)
    install(folder, "typed-games", {"typed": "typed_games:LiarsDice"}, {"typed": "typed_games:DiceAdapter"})
    (folder / "typed_games.py").write_text(TYPED)
    (folder / "hung_games.py").write_text(HUNG_MODULE)
    paths = [folder, ROOT, ROOT / "proto", ROOT / "examples" / "games" / "liars_dice"]
    return {"PYTHONPATH": os.pathsep.join(map(str, paths))}


# A `sitecustomize` module: on SIGUSR1, write the names of all modules to a file.
SHOW_MODULES = """\
import os, signal, sys
from pathlib import Path


def show(*_):
    file = Path(__file__).with_name(f"modules-{os.getpid()}")
    file.write_text("\\n".join(sys.modules) + "\\n")


signal.signal(signal.SIGUSR1, show)
"""
