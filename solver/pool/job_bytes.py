"""Questions and shares as bytes: all that crosses from one process or machine to another. Nothing in here is unpickled.

A job is a question as `encode` writes it, its clocks, and the account of its history, so that no worker replays it; a
share is packed numbers. Each begins with a mark and a checksum, and is refused with a JobBytesError if anything about
it is not as it should be.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import chain
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin, get_type_hints
from zlib import crc32

from engine_cy import Action, Game, errors, game_ids, new_game
from engine_cy.history import restore
from solver.config import Budget, Config, InvalidQuestionError
from solver.merge import Share, Tally, tally_numbers
from solver.question import (
    ComparisonQuestion,
    InformationQuestion,
    Question,
    SearchQuestion,
    encode,
    pack,
)

JOB, SHARE = b"EmJ3", b"EmS2"
REASONS = ("iterations", "time", "confidence", "stopped", "forced", "lost", "")

T = TypeVar("T")

_SEAL = struct.Struct("<4sI")
# Decisions, seats, reason, missing, iterations, worlds, nodes, bytes; lengths of the text and of the payoffs.
_SHARE = struct.Struct("<HBBHqqqqII")
_LENGTH = struct.Struct("<I")


class JobBytesError(ValueError):
    """Bytes that are no job or share of ours, or a question that cannot be sent."""


# --- jobs ---------------------------------------------------------------------------------------------------------


def encode_job(question: Question) -> bytes:
    """Write a question for another process. Games of others, such as OpenSpiel's, are objects of this process and
    cannot be sent."""
    game, budget = question.view.game, question.budget
    if game.spec[0] not in game_ids():
        raise JobBytesError(f"game: {game.id!r} is none that other processes know ({', '.join(game_ids())})")
    clocks = json.dumps([budget.time_ms, budget.thread_time_ms]).encode()
    account = b"" if question.history is None else bytes(question.history)
    return _seal(JOB, pack([*encode(question), clocks, account]))


def decode_job(message: bytes) -> Question:
    """Read the question that `encode_job` wrote."""
    blobs = unpack(_unseal(JOB, message))
    if len(blobs) != 5:
        raise JobBytesError(f"job: {len(blobs)} parts, not 5")
    asked, seed, limits, clocks, account = blobs
    heads = unpack(asked)
    if len(heads) != 3:
        raise JobBytesError(f"job: {len(heads)} parts of what is asked, not 3")
    common, own, view = heads
    try:
        game, config = _read_common(common)
        budget = _exactly(_DECODER.decode(limits.decode()), dict)
        budget["time_ms"], budget["thread_time_ms"] = _exactly(_DECODER.decode(clocks.decode()), list)
        return _read_own(
            _DECODER.decode(own.decode()), game, config, view, int.from_bytes(seed, "little"), budget, account
        )
    except JobBytesError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, errors.EngineError) as error:
        raise JobBytesError(f"job: {type(error).__name__}: {error}") from None


@lru_cache(64)
def _read_common(text: bytes) -> tuple[Game, Config]:
    """To read it takes longer than all the rest."""
    head = _DECODER.decode(text.decode())
    return new_game(*_exactly(head["game"], list)), _read_config(head["config"])


def _read_own(
    head: Any, game: Game, config: Config, view: bytes, seed: int, limits: dict[str, Any], account: bytes
) -> Question:
    seen, actions = game.view_from_bytes(view, _exactly(head["observer"], int)), head["history"]
    models = _exactly(head["models"], list)
    if len(models) != game.n_players:
        raise JobBytesError(f"models: {models!r} are not {game.n_players}")
    share_iterations = limits.pop("share_iterations", ())
    thinking: Any = {
        "config": config,
        "seed": seed,
        "shares": head["shares"],
        "models": {seat: model for seat, model in enumerate(models) if seat != seen.observer},
        "history": None if actions is None else restore(game, list(map(_text, _exactly(actions, list))), account),
    }
    budget = Budget(**limits)
    match head["shape"]:
        case "search":
            among = _actions(game, head["among"])
            return SearchQuestion(
                seen, budget, lines=head["lines"], among=among, share_iterations=share_iterations, **thinking
            )
        case "comparison":
            return ComparisonQuestion(seen, _actions(game, head["actions"]), budget, **thinking)
        case "information":
            return InformationQuestion(seen, budget, **thinking)
    raise JobBytesError(f"shape: {head['shape']!r} is none of search, comparison, information")


def _actions(game: Game, codes: Any) -> list[Action]:
    return [game.action_from_steps(tuple(_exactly(code, list))) for code in _exactly(codes, list)]


def _text(value: Any) -> str:
    return _exactly(value, str)


def _read_config(values: Any) -> Config:
    hints = _config_hints()
    if not isinstance(values, dict) or values.keys() != hints.keys():
        raise JobBytesError(f"Config: its fields are {', '.join(hints)}")
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise JobBytesError(f"Config.{name}: {value!r} is not possible")
    return Config(**values)


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


@cache
def _config_hints() -> dict[str, Any]:
    return get_type_hints(Config)


def _exactly(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise JobBytesError(f"job: {value!r} is not of type {kind.__name__}")
    return value


def _refuse(constant: str) -> NoReturn:
    raise JobBytesError(f"job: {constant} is no number")


# Made once: `json.dumps` and `json.loads` make one at each call that says how.
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_refuse)


# --- shares -------------------------------------------------------------------------------------------------------


def encode_share(share: Share) -> bytes:
    n = share.tallies[0].players
    text = json.dumps([share.lines, share.note]).encode() if share.lines or share.note else b""
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
        len(share.payoffs),
    )
    numbers = chain.from_iterable(tally.sums for tally in share.tallies)
    return _seal(SHARE, head + text + share.payoffs + _tallies(len(share.tallies), n).pack(*numbers))


def decode_share(message: bytes) -> Share:
    """The share that `encode_share` wrote."""
    body = _unseal(SHARE, message)
    if len(body) < _SHARE.size:
        raise JobBytesError(f"share: {len(body)} bytes are too few")
    n_tallies, n, why, missing, iterations, worlds, nodes, tree_bytes, n_text, n_payoffs = _SHARE.unpack_from(body)
    each, at = sum(tally_numbers(n)), _SHARE.size + n_text + n_payoffs
    if why >= len(REASONS) or n_payoffs % 8 or len(body) != at + 8 * n_tallies * each:
        raise JobBytesError("share: its parts do not add up")
    lines, note = _read_text(body[_SHARE.size : _SHARE.size + n_text])
    payoffs = body[_SHARE.size + n_text : at]
    numbers = _tallies(n_tallies, n).unpack_from(body, at)
    tallies = tuple(Tally(n, numbers[i : i + each]) for i in range(0, len(numbers), each))
    return Share(tallies, iterations, worlds, nodes, tree_bytes, REASONS[why], lines, payoffs, missing, note)


def _read_text(text: bytes) -> tuple[Any, str]:
    """The lines and the note of a share."""
    if not text:
        return (), ""
    try:
        lines, note = json.loads(text)
        read = tuple((int(i), tuple((int(seat), tuple(map(int, code))) for seat, code in steps)) for i, steps in lines)
    except (ValueError, TypeError) as error:
        raise JobBytesError(f"share: its lines cannot be read: {error}") from None
    return read, str(note)


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
        InvalidQuestionError,
        MemoryError,
        JobBytesError,
    )
}


class WorkerError(RuntimeError):
    """Something went wrong on a worker that should not."""


def answered(compute: Callable[[], bytes]) -> bytes:
    """Return the result of a call as bytes, or the error that it ended with, by its name."""
    try:
        return b"\0" + compute()
    except Exception as error:
        refused = [error.reason, error.accepted] if isinstance(error, InvalidQuestionError) else []
        return b"\1" + json.dumps([type(error).__name__, str(error), *refused]).encode()


def read_answer(message: bytes) -> bytes:
    """What `answered` computed; or the error is raised here."""
    if message[:1] == b"\0":
        return message[1:]
    if message[:1] != b"\1":
        raise JobBytesError("answer: neither a result nor an error")
    try:
        name, text, *refused = json.loads(message[1:])
        reason, accepted = refused or ("OUT_OF_RANGE", "")
    except (ValueError, TypeError):
        raise JobBytesError("answer: an error that cannot be read") from None
    known = _ERRORS.get(str(name))
    if known is InvalidQuestionError:
        field, _, problem = text.partition(": ")
        raise InvalidQuestionError(field, problem, reason=reason, accepted=accepted)
    raise known(text) if known else WorkerError(f"{name}: {text}")


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
    found, checksum = _SEAL.unpack_from(message)
    body = message[_SEAL.size :]
    if found != mark or checksum != crc32(body):
        raise JobBytesError("message: the mark or the checksum is not as it should be")
    return body
