"""The errors of the engine.

Each message names the field, the rejected value and the accepted ones. Programs branch on the class; `reason` is its
value of `ErrorReason` in the contract.
"""


class EngineError(ValueError):
    """The base class: an invalid argument. No state has changed."""

    reason = "UNSPECIFIED"


class InvalidRulesetError(EngineError):
    """An unknown game, edition or switch, a value of the wrong type or range, or contradicting switches."""

    reason = "INVALID_RULESET"


class InvalidPositionError(EngineError):
    """A table that contradicts itself, or has cards in numbers or kinds that no game leads to."""

    reason = "INVALID_POSITION"
    fault: object = None  # engine_cy.tables.Fault, if a field of a table in words is wrong


class InvalidViewError(InvalidPositionError):
    """A view that contradicts itself, or hides a fact that its observer must know."""

    reason = "INVALID_VIEW"


class HiddenCardError(InvalidViewError):
    """A view that names a card that its observer cannot know: the caller leaks hidden information."""

    reason = "HIDDEN_CARD"


class NoWorldError(InvalidViewError):
    """A view that no position fits: a card occurs too often, or a count is wrong."""

    reason = "NO_WORLD_FITS"


class IllegalActionError(EngineError):
    """An action that is illegal at this table."""

    reason = "ILLEGAL_ACTION"


class NotationError(EngineError):
    """A text that is not a position, action or card in the notation of the game."""

    reason = "INVALID_NOTATION"


class InvalidRecordError(EngineError):
    """A game record that cannot be read or replayed."""

    reason = "INVALID_RECORD"


class GameFaultError(EngineError):
    """A fault in the code of a game: an exception, or a broken promise of the interface. The message names it first."""

    reason = "GAME_FAULT"


QUOTED_MAX = 60


def quoted(value: object) -> str:
    """Return a value as a refusal shows it: a long one is cut."""
    text = repr(value)
    return text if len(text) <= QUOTED_MAX else f"{text[:QUOTED_MAX]}..."


def listed(options: object) -> str:
    """Join `options` by commas, for a message."""
    words = [str(option) for option in options]  # type: ignore[attr-defined]
    return ", ".join(words) if words else "nothing"
