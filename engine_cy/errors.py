"""The errors of the engine.

Each message names the field, the rejected value and the accepted ones. Programs branch on the class; `reason` is its
value of `ErrorReason` in the contract.
"""


class EngineError(ValueError):
    """Base class: a caller's argument is invalid. No state has changed."""

    reason = "UNSPECIFIED"


class InvalidRulesetError(EngineError):
    """The game, edition or a switch is unknown, a switch has the wrong type or range, or two contradict each other."""

    reason = "INVALID_RULESET"


class InvalidPositionError(EngineError):
    """The table contradicts itself, or has cards in numbers or kinds that no game leads to."""

    reason = "INVALID_POSITION"


class InvalidViewError(InvalidPositionError):
    """The view contradicts itself, or hides a fact that its observer must know."""

    reason = "INVALID_VIEW"


class HiddenCardError(InvalidViewError):
    """The view names a card that its observer cannot know: the caller leaks hidden information."""

    reason = "HIDDEN_CARD"


class NoWorldError(InvalidViewError):
    """No position fits the view: a card occurs too often, or a count is wrong."""

    reason = "NO_WORLD_FITS"


class IllegalActionError(EngineError):
    """The rules do not allow the action at this table."""

    reason = "ILLEGAL_ACTION"


class NotationError(EngineError):
    """The text is not a position, action or card in the notation of this game."""

    reason = "INVALID_NOTATION"


class InvalidRecordError(EngineError):
    """The game record cannot be read or replayed."""

    reason = "INVALID_RECORD"


def listed(options: object) -> str:
    """Join `options` by commas, for a message."""
    words = [str(option) for option in options]  # type: ignore[attr-defined]
    return ", ".join(words) if words else "nothing"
