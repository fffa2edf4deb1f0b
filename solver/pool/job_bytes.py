"""Serialize questions and shares for other processes and machines, without pickle.

A job is a question as `encode` writes it, its time limits, and the evidence of its history, so workers need not replay
it. Jobs and shares begin with a magic number and a checksum. `job_shapes.py` checks the types of all fields, and
constructors check their values; invalid bytes raise JobBytesError. Functions import `job_shapes.py` when they run,
because it imports msgspec: `import solver` needs no other package.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any
from zlib import crc32

from engine_cy import Action, Game, errors, game_ids, new_game
from engine_cy.action_log import restore
from engine_cy.registry import is_game_id
from solver.config import Budget, Config, InvalidQuestionError
from solver.merge import REASONS, Share, tally_numbers
from solver.question import (
    PAYOFF_BYTES,
    ComparisonQuestion,
    InformationQuestion,
    Question,
    SearchQuestion,
    encode,
    pack,
)

JOB, SHARE = b"EmJ4", b"EmS3"

_SEAL = struct.Struct("<4sI")
_LENGTH = struct.Struct("<I")


class JobBytesError(ValueError):
    """Refuse bytes that are not a valid job or share, or a question that cannot be sent."""


# --- jobs ---------------------------------------------------------------------------------------------------------

_CONFIG_FIELDS = [field.name for field in fields(Config)]


def encode_job(question: Question) -> bytes:
    """Serialize a question for another process. Games without an id of `new_game` fail."""
    from solver.pool import job_shapes

    game, budget = question.view.game, question.budget
    if not is_game_id(game.id):
        raise JobBytesError(f"game: {game.id!r} is unknown to other processes; they know {', '.join(game_ids())}")
    clocks = job_shapes.to_json((budget.time_ms, budget.thread_time_ms))
    logged = b"" if question.history is None else bytes(question.history)
    return _seal(JOB, pack([*encode(question), clocks, logged]))


def decode_job(message: bytes) -> Question:
    """Read the question that `encode_job` wrote."""
    from solver.pool import job_shapes

    body = _unseal(JOB, message)
    try:
        return _read_job(body)
    except JobBytesError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
        RecursionError,
        job_shapes.MalformedError,
        errors.EngineError,
    ) as error:
        raise JobBytesError(f"job: {type(error).__name__}: {error}") from None


def _read_job(body: bytes) -> Question:
    from solver.pool import job_shapes

    question, seed, limits_text, clocks_text, logged = unpack(body)
    common, own_text, view_bytes = unpack(question)
    game, config = _read_common(common)
    own, limits = job_shapes.OWN.decode(own_text), job_shapes.LIMITS.decode(limits_text)
    time_ms, thread_time_ms = job_shapes.CLOCKS.decode(clocks_text)
    budget = Budget(limits.iterations, time_ms, thread_time_ms, limits.memory_mb, limits.confidence)
    view = game.view_from_bytes(view_bytes, own.observer)
    if len(own.models) != game.n_players:
        raise JobBytesError(f"models: {len(own.models)} entries for {game.n_players} players")
    options: Any = {
        "config": config,
        "seed": int.from_bytes(seed, "little"),
        "shares": own.shares,
        "models": {seat: model for seat, model in enumerate(own.models) if seat != view.observer},
        "history": None if own.history is None else restore(game, own.history, logged),
    }
    if isinstance(own, job_shapes.Search):
        options |= {"lines": own.lines, "share_iterations": limits.share_iterations}
        return SearchQuestion(view, budget, among=_actions(game, own.among), **options)
    elif isinstance(own, job_shapes.Comparison):
        return ComparisonQuestion(view, _actions(game, own.actions), budget, **options)
    return InformationQuestion(view, budget, **options)


@lru_cache(64)
def _read_common(text: bytes) -> tuple[Game, Config]:
    """Decode the game and configuration, which many jobs share; it takes longer than decoding all the rest."""
    from solver.pool import job_shapes

    common = job_shapes.COMMON.decode(text)
    # msgspec accepts missing and unknown fields of a dataclass.
    if json.loads(text)["config"].keys() != set(_CONFIG_FIELDS):
        raise JobBytesError(f"config: its fields are {', '.join(_CONFIG_FIELDS)}")
    return new_game(*common.game), common.config


def _actions(game: Game, codes: Sequence[tuple[int, ...]]) -> list[Action]:
    return [game.action_from_steps(code) for code in codes]


# --- shares -------------------------------------------------------------------------------------------------------


def encode_share(share: Share) -> bytes:
    from solver.pool import job_shapes

    return _seal(SHARE, job_shapes.to_msgpack(share))


def decode_share(message: bytes) -> Share:
    """Read the share that `encode_share` wrote."""
    from solver.pool import job_shapes

    body = _unseal(SHARE, message)
    try:
        share = job_shapes.SHARES.decode(body)
    except (ValueError, job_shapes.MalformedError) as error:
        raise JobBytesError(f"share: {error}") from None
    shapes = {(tally.players, len(tally.sums)) for tally in share.tallies}
    is_even = len(shapes) == 1 and all(n > 0 and sum(tally_numbers(n)) == n_sums for n, n_sums in shapes)
    if not is_even or share.stopped_by not in REASONS or len(share.payoffs) % PAYOFF_BYTES:
        raise JobBytesError("share: its tallies, reason or payoffs are inconsistent")
    return share


# --- answers: the result of a call, or its error ------------------------------------------------------------------

# Errors that a job may raise on any machine; every other error on a worker becomes a WorkerError.
_ERRORS: dict[str, type[Exception]] = {
    cls.__name__: cls
    for cls in (
        *(cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, Exception)),
        InvalidQuestionError,
        MemoryError,
        JobBytesError,
    )
}


class WorkerError(RuntimeError):
    """Report an unexpected error on a worker."""


def write_answer(compute: Callable[[], bytes]) -> bytes:
    """Call a function; return its result as bytes, or the error that it raised, by its name."""
    try:
        return b"\0" + compute()
    except Exception as error:
        details = [error.reason, error.accepted] if isinstance(error, InvalidQuestionError) else []
        fields = [type(error).__name__, str(error), *details]
        return b"\1" + pack([field.encode(errors="replace") for field in fields])


def read_answer(message: bytes) -> bytes:
    """Return the result that `write_answer` wrote, or raise its error."""
    if message[:1] == b"\0":
        return message[1:]
    if message[:1] != b"\1":
        raise JobBytesError("answer: neither a result nor an error")
    try:
        name, text, *details = [field.decode() for field in unpack(message[1:])]
        reason, accepted = details or ("OUT_OF_RANGE", "")
    except ValueError:
        raise JobBytesError("answer: an error that cannot be decoded") from None
    error_type = _ERRORS.get(name)
    if error_type is InvalidQuestionError:
        field, _, problem = text.partition(": ")
        raise InvalidQuestionError(field, problem, reason=reason, accepted=accepted)
    raise error_type(text) if error_type else WorkerError(f"{name}: {text}")


# --- packing ------------------------------------------------------------------------------------------------------


def unpack(body: bytes) -> list[bytes]:
    blobs, at = [], 0
    while at < len(body):
        end = at + _LENGTH.size
        if end > len(body):
            raise JobBytesError("packed: cut off")
        at, end = end, end + _LENGTH.unpack_from(body, at)[0]
        if end > len(body):
            raise JobBytesError("packed: cut off")
        blobs.append(body[at:end])
        at = end
    return blobs


def _seal(mark: bytes, body: bytes) -> bytes:
    return _SEAL.pack(mark, crc32(body)) + body


def _unseal(mark: bytes, message: bytes) -> bytes:
    if len(message) < _SEAL.size:
        raise JobBytesError(f"message: {len(message)} bytes are too few")
    actual_mark, checksum = _SEAL.unpack_from(message)
    body = message[_SEAL.size :]
    if actual_mark != mark or checksum != crc32(body):
        raise JobBytesError("message: wrong magic number or checksum")
    return body
