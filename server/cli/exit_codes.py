"""The one place where whatever goes wrong becomes a message and an exit code. Nobody is shown a traceback.

This file is loaded at every start: what it needs for an error it imports when there is one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

DONE = 0
FAILED = 1  # it cannot be done as asked, or some of the input could not be read
USAGE = 2  # unknown options, missing arguments: click's own code
OUR_MISTAKE = 3
INTERRUPTED = 130  # as a shell has it for SIGINT
NOBODY_READS = 141  # as it has it for SIGPIPE

# Set to anything, our mistakes are shown with the places they happened at.
DEBUG = "EMINENCE_DEBUG"


class Failure(Exception):
    """What a command cannot do, in a sentence that names the field or file, the value and what was possible; of a
    server, with its reason."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class NobodyReads(Exception):
    """Whoever read our output has left."""


def guarded(call: Callable[[], Any], *, as_json: bool = False) -> int:
    """The exit code of a command; what went wrong is said on standard error, with `as_json` as an object."""
    try:
        code = call()
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except click.UsageError as error:
        if as_json:
            _tell("USAGE", error.format_message(), as_json)
        else:
            error.show()
        return USAGE
    except click.ClickException as error:
        _tell("", error.format_message(), as_json)
        return FAILED
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, NobodyReads):
        # What is still to be written at the end of the process must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return NOBODY_READS
    except Exception as error:
        reason, message = _explained(error)
        if message is None:
            if DEBUG in os.environ:
                raise
            _tell("INTERNAL", f"our mistake: {type(error).__name__}: {error} ({DEBUG}=1 shows where)", as_json)
            return OUR_MISTAKE
        _tell(reason, message, as_json)
        return FAILED


def _explained(error: Exception) -> tuple[str, str | None]:
    """A reason for programs, if there is one, and what people are told; None if it is our mistake."""
    from engine_cy.errors import EngineError
    from server.refusals import Refusal
    from solver.config import InvalidQuestionError

    if isinstance(error, InvalidQuestionError):
        return "", str(error)
    if isinstance(error, Failure | Refusal | EngineError):
        return error.reason, str(error)
    if isinstance(error, OSError):
        return "", f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return "", None


def _tell(reason: str, message: str, as_json: bool) -> None:
    if not as_json:
        click.echo(f"eminence: {message}", err=True)
        return
    import json

    click.echo(json.dumps({"error": {"reason": reason, "message": message}}, ensure_ascii=False), err=True)
