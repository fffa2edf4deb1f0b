"""The JSON and MessagePack shapes of jobs and shares. msgspec checks the types of all fields.

Only the functions of `job_bytes.py` import this module.
"""

from __future__ import annotations

from typing import Any

import msgspec

from solver.config import Config, Model
from solver.merge import Share

Code = tuple[int, ...]  # of an action


class Common(msgspec.Struct, forbid_unknown_fields=True):
    """The part of a question that many jobs have in common."""

    game: tuple[str, Any, int]
    config: Config


class Own(msgspec.Struct, tag_field="shape", forbid_unknown_fields=True):
    """The part of a question that is its own; each shape adds its fields."""

    observer: int
    history: list[str] | None
    shares: int
    models: list[Model]


class Search(Own, tag="search"):
    lines: int
    among: list[Code]


class Comparison(Own, tag="comparison"):
    actions: list[Code]


class Information(Own, tag="information"):
    pass


class Limits(msgspec.Struct, forbid_unknown_fields=True):
    iterations: int | None
    memory_mb: float
    confidence: float | None
    share_iterations: tuple[int, ...] = ()


COMMON = msgspec.json.Decoder(Common)
OWN = msgspec.json.Decoder(Search | Comparison | Information)
LIMITS = msgspec.json.Decoder(Limits)
CLOCKS = msgspec.json.Decoder(tuple[float | None, float | None])
SHARES = msgspec.msgpack.Decoder(Share)

to_json = msgspec.json.encode
to_msgpack = msgspec.msgpack.encode
MalformedError = msgspec.MsgspecError
