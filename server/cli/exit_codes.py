"""Turn exceptions into messages and exit codes; users never see a traceback.

Every start imports this module. It imports the exception classes only when it handles an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

DONE = 0
FAILED = 1  # the command failed, or some of the input is invalid
USAGE = 2  # unknown options, missing arguments: click's own code
INTERNAL_ERROR = 3
INTERRUPTED = 130  # the shell's code for SIGINT
OUTPUT_CLOSED = 141  # the shell's code for SIGPIPE

# Environment variable that shows tracebacks of internal errors.
DEBUG = "EMINENCE_DEBUG"


class Failure(Exception):
    """Error that a user can correct.

    The text names the option, field or file, its value, and the values that are accepted. `reason` is the reason that
    a server gave.
    """

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class OutputClosed(Exception):
    """The reader of standard output has closed it."""


def run_to_exit_code(call: Callable[[], Any], *, as_json: bool = False) -> int:
    """Run a command and return its exit code; print errors to standard error, with `as_json` as a JSON object."""
    try:
        code = call()
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except click.UsageError as error:
        if as_json:
            _print_error("USAGE", error.format_message(), as_json)
        else:
            error.show()
        return USAGE
    except click.ClickException as error:
        _print_error("", error.format_message(), as_json)
        return FAILED
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, OutputClosed):
        # Python flushes standard output when the process exits; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return OUTPUT_CLOSED
    except Exception as error:
        reason, message = _explanation(error)
        if message is None:
            if DEBUG in os.environ:
                raise
            _print_error(
                "INTERNAL", f"internal error: {type(error).__name__}: {error} ({DEBUG}=1 shows the traceback)", as_json
            )
            return INTERNAL_ERROR
        _print_error(reason, message, as_json)
        return FAILED


def _explanation(error: Exception) -> tuple[str, str | None]:
    """Return the reason (may be empty) and the message of an error; None as the message of an internal error."""
    from engine_cy.errors import EngineError
    from server.refusals import Refusal
    from solver.config import InvalidQuestionError
    from solver.extras import MissingExtraError

    if isinstance(error, InvalidQuestionError | MissingExtraError):
        return "", str(error)
    if isinstance(error, Failure | Refusal | EngineError):
        return error.reason, str(error)
    if isinstance(error, OSError):
        return "", f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return "", None


def _print_error(reason: str, message: str, as_json: bool) -> None:
    if not as_json:
        click.echo(f"eminence: {message}", err=True)
        return
    import json

    click.echo(json.dumps({"error": {"reason": reason, "message": message}}, ensure_ascii=False), err=True)
