"""Jobs and shares as bytes: all that crosses from one process or machine to another. Nothing in here is unpickled.

A job is two lines of JSON, what many jobs have in common and what is its own, then the bytes of its view and of its
history; a share is packed numbers.
Each begins with a mark and a checksum, and is refused with a WireError if anything about it is not as it should be.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin, get_type_hints
from zlib import crc32

from engine_cy import Game, errors, game_ids, new_game
from engine_cy.history import restore
from solver.backends.base import Job
from solver.config import ITERATIONS_MAX, MODELS, Budget, Config, InvalidBudgetError, check_budget
from solver.merge import Share, Tally, tally_numbers

JOB, SHARE = b"EmJ2", b"EmS1"
REASONS = ("iterations", "time", "confidence", "stopped", "forced", "lost", "")

Record = TypeVar("Record", Config, Budget)
T = TypeVar("T")

_SEAL = struct.Struct("<4sI")
_SHARE = struct.Struct("<HBBHqqqqI")  # decisions, seats, reason, missing, iterations, worlds, nodes, bytes, of the text
_LENGTH = struct.Struct("<I")


class WireError(ValueError):
    """Bytes that are no job or share of ours, or a job that cannot be sent."""


# --- jobs ---------------------------------------------------------------------------------------------------------


def encode_job(job: Job) -> bytes:
    """A job as bytes. Games of others, as those of OpenSpiel, are objects of this process and cannot be sent."""
    game = job.view.game
    if game.spec[0] not in game_ids():
        raise WireError(f"game: {game.id!r} is none that other processes know ({', '.join(game_ids())})")
    common = {"game": game.spec, "config": _values(job.config)}
    own = {
        "observer": job.view.observer,
        "budget": _values(job.budget),
        "seed": job.seed,
        "shares": job.shares,
        "models": job.models,
        "lines": job.lines,
        "among": [action.code for action in job.among],
        "share_iterations": job.share_iterations,
        "n_actions": None if job.history is None else job.history.n_actions,
    }
    account = b"" if job.history is None else bytes(job.history)
    lines = [_ENCODER.encode(line).encode() for line in (common, own)]
    return _seal(JOB, pack([*lines, bytes(job.view), account]))


def decode_job(message: bytes) -> Job:
    """The job that `encode_job` wrote."""
    blobs = unpack(_unseal(JOB, message))
    if len(blobs) != 4:
        raise WireError(f"job: {len(blobs)} parts, not 4")
    common, own, view, account = blobs
    try:
        game, config = _read_common(common)
        return _read_own(_DECODER.decode(own.decode()), game, config, view, account)
    except WireError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, errors.EngineError) as error:
        raise WireError(f"job: {type(error).__name__}: {error}") from None


@lru_cache(64)
def _read_common(text: bytes) -> tuple[Game, Config]:
    """To read it takes longer than all the rest."""
    head = _DECODER.decode(text.decode())
    return new_game(*_exactly(head["game"], list)), _read_values(Config, head["config"])


def _read_own(head: Any, game: Game, config: Config, view: bytes, account: bytes) -> Job:
    n_actions = head["n_actions"]
    models = tuple(_exactly(head["models"], list))
    if len(models) not in (0, game.n_players) or not set(models) <= set(MODELS):
        raise WireError(f"models: {models!r} are not {game.n_players} of {', '.join(MODELS)}")
    shares, lines = _exactly(head["shares"], int), _exactly(head["lines"], int)
    if shares < 1 or lines < 0:
        raise WireError(f"shares, lines: {shares} and {lines} are not possible")
    share_iterations = tuple(_exactly(n, int) for n in _exactly(head["share_iterations"], list))
    if len(share_iterations) not in (0, shares) or not all(0 <= n <= ITERATIONS_MAX for n in share_iterations):
        raise WireError(f"share_iterations: {list(share_iterations)} is not what {shares} shares have")
    seed = _exactly(head["seed"], int)
    if not 0 <= seed < 2**64:
        raise WireError(f"seed: {seed} is not in 0..2**64 - 1")
    seen = game.view_from_bytes(view, _exactly(head["observer"], int))
    among = tuple(game.action_from_steps(tuple(_exactly(steps, list))) for steps in _exactly(head["among"], list))
    if not set(among) <= set(seen.legal_actions()):
        raise WireError(f"among: one of {', '.join(map(str, among))} is not legal")
    return Job(
        view=seen,
        config=config,
        budget=check_budget(_read_values(Budget, head["budget"])),
        seed=seed,
        shares=shares,
        models=models,
        history=None if n_actions is None else restore(game, _exactly(n_actions, int), account),
        lines=lines,
        among=among,
        share_iterations=share_iterations,
    )


def _values(record: Config | Budget) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _HINTS[type(record)]}


def _read_values(cls: type[Record], values: Any) -> Record:
    hints = _HINTS[cls]
    if not isinstance(values, dict) or values.keys() != hints.keys():
        raise WireError(f"{cls.__name__}: its fields are {', '.join(hints)}")
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise WireError(f"{cls.__name__}.{name}: {value!r} is not possible")
    return cls(**values)


def _fits(value: Any, hint: Any) -> bool:
    types, words = _possible(hint)
    return type(value) in types or (isinstance(value, str) and value in words)


@cache
def _possible(hint: Any) -> tuple[frozenset[type], frozenset[str]]:
    """Of a field: the types and the words that its values may be."""
    if get_origin(hint) is Literal:
        return frozenset(), frozenset(get_args(hint))
    if isinstance(hint, UnionType):
        types, words = zip(*map(_possible, get_args(hint)), strict=True)
        return frozenset().union(*types), frozenset().union(*words)
    return frozenset((int, float) if hint is float else (hint,)), frozenset()


_HINTS: dict[type, dict[str, Any]] = {cls: get_type_hints(cls) for cls in (Config, Budget)}


def _exactly(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise WireError(f"job: {value!r} is not of type {kind.__name__}")
    return value


def _refuse(constant: str) -> NoReturn:
    raise WireError(f"job: {constant} is no number")


# Made once: `json.dumps` and `json.loads` make one at each call that says how.
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_refuse)


# --- shares -------------------------------------------------------------------------------------------------------


def encode_share(share: Share) -> bytes:
    n = share.tallies[0].players
    text = json.dumps([share.lines, share.note]).encode()
    head = _SHARE.pack(
        len(share.tallies),
        n,
        REASONS.index(share.stopped_by),
        share.missing,
        share.iterations,
        share.worlds,
        share.nodes,
        share.tree_bytes,
        len(text),
    )
    numbers = chain.from_iterable(tally.sums for tally in share.tallies)
    return _seal(SHARE, head + text + _tallies(len(share.tallies), n).pack(*numbers))


def decode_share(message: bytes) -> Share:
    """The share that `encode_share` wrote."""
    body = _unseal(SHARE, message)
    if len(body) < _SHARE.size:
        raise WireError(f"share: {len(body)} bytes are too few")
    n_tallies, n, why, missing, iterations, worlds, nodes, tree_bytes, length = _SHARE.unpack_from(body)
    each = sum(tally_numbers(n))
    if why >= len(REASONS) or len(body) != _SHARE.size + length + 8 * n_tallies * each:
        raise WireError("share: its parts do not add up")
    text = body[_SHARE.size : _SHARE.size + length]
    try:
        lines, note = json.loads(text)
        read = tuple((int(i), tuple(str(step) for step in steps)) for i, steps in lines)
    except (ValueError, TypeError) as error:
        raise WireError(f"share: its lines cannot be read: {error}") from None
    numbers = _tallies(n_tallies, n).unpack_from(body, _SHARE.size + length)
    tallies = tuple(Tally(n, numbers[i : i + each]) for i in range(0, len(numbers), each))
    return Share(tallies, iterations, worlds, nodes, tree_bytes, REASONS[why], read, missing, str(note))


@lru_cache(256)
def _tallies(n_tallies: int, n: int) -> struct.Struct:
    counts, fractions, more = tally_numbers(n)
    return struct.Struct("<" + f"{counts}q{fractions}d{more}q" * n_tallies)


# --- answers: what came of a call, or the error it ended with -----------------------------------------------------

# Errors that a job may end with on any machine; what else goes wrong there is a WorkerError.
_ERRORS: dict[str, type[Exception]] = {
    cls.__name__: cls
    for cls in (
        *(cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, Exception)),
        InvalidBudgetError,
        MemoryError,
        WireError,
    )
}


class WorkerError(RuntimeError):
    """Something went wrong on a worker that should not."""


def answered(compute: Callable[[], bytes]) -> bytes:
    """What a call came to; errors are told by their names."""
    try:
        return b"\0" + compute()
    except Exception as error:
        return b"\1" + json.dumps([type(error).__name__, str(error)]).encode()


def read_answer(message: bytes) -> bytes:
    """What `answered` computed; or the error is raised here."""
    if message[:1] == b"\0":
        return message[1:]
    if message[:1] != b"\1":
        raise WireError("answer: neither a result nor an error")
    try:
        name, text = json.loads(message[1:])
    except (ValueError, TypeError):
        raise WireError("answer: an error that cannot be read") from None
    known = _ERRORS.get(str(name))
    raise known(text) if known else WorkerError(f"{name}: {text}")


# --- packing ------------------------------------------------------------------------------------------------------


def pack(blobs: Sequence[bytes]) -> bytes:
    """Several pieces as one."""
    return b"".join(piece for blob in blobs for piece in (_LENGTH.pack(len(blob)), blob))


def unpack(body: bytes) -> list[bytes]:
    blobs, at = [], 0
    while at < len(body):
        end = at + _LENGTH.size
        if end > len(body):
            raise WireError("packed: cut off")
        at, end = end, end + _LENGTH.unpack_from(body, at)[0]
        if end > len(body):
            raise WireError("packed: cut off")
        blobs.append(body[at:end])
        at = end
    return blobs


def _seal(mark: bytes, body: bytes) -> bytes:
    return _SEAL.pack(mark, crc32(body)) + body


def _unseal(mark: bytes, message: bytes) -> bytes:
    if len(message) < _SEAL.size:
        raise WireError(f"message: {len(message)} bytes are too few")
    found, checksum = _SEAL.unpack_from(message)
    body = message[_SEAL.size :]
    if found != mark or checksum != crc32(body):
        raise WireError("message: the mark or the checksum is not as it should be")
    return body
