"""What the engine refuses, and how it says so.

Every message names the field, the value that was found and what was possible. A program branches on the class;
the contract's `ErrorReason` has one reason for each (`reason`).
"""


class EngineError(ValueError):
    """Something a caller sent was refused; nothing has changed."""

    reason = "UNSPECIFIED"


class InvalidRulesetError(EngineError):
    """An unknown game, edition or switch, a switch of the wrong type or range, or two that contradict."""

    reason = "INVALID_RULESET"


class InvalidPositionError(EngineError):
    """A table that no game can reach by its number and kind of cards, or that contradicts itself."""

    reason = "INVALID_POSITION"


class InvalidViewError(InvalidPositionError):
    """A view that hides what its observer must know, or contradicts itself."""

    reason = "INVALID_VIEW"


class HiddenCardError(InvalidViewError):
    """A view that names what its observer cannot know: something peeks."""

    reason = "HIDDEN_CARD"


class NoWorldError(InvalidViewError):
    """A view whose parts may each be right, but no position has all of them: a card too often, a wrong count."""

    reason = "NO_WORLD_FITS"


class IllegalActionError(EngineError):
    """An action that the rules do not allow here."""

    reason = "ILLEGAL_ACTION"


class NotationError(EngineError):
    """Text that is no position, action or card in this game's notation."""

    reason = "INVALID_NOTATION"


class InvalidRecordError(EngineError):
    """A game record that cannot be read or replayed."""

    reason = "INVALID_RECORD"


def listed(options: object) -> str:
    """`options` as a short list for a message."""
    words = [str(option) for option in options]  # type: ignore[attr-defined]
    return ", ".join(words) if words else "nothing"
