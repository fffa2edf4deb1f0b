"""A table of an installed game: the row that a worker process reads, because none of the game's code runs here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from server.tables.table import Sitter


@dataclass(slots=True)
class InstalledTable:
    """The row of a table (`Table.row`), and the id of its game."""

    game_id: str
    content: dict[str, Any]

    @property
    def version(self) -> int:
        version: int = self.content["version"]
        return version

    @property
    def sitters(self) -> list[Sitter]:
        return [Sitter(name, level) for name, level in self.content["sitters"]]

    def row(self) -> dict[str, Any]:
        return {**self.content, "installed": self.game_id}
