"""eminence serve: the gRPC service. `python -m server` is the same command."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import NoReturn

import click

from server.cli.command import command
from server.cli.exit_codes import Failure, OutputClosed
from server.settings import PREFIX, SettingsError, options, read_settings
from solver.extras import importing


@command(
    "eminence serve",
    "eminence serve --threads 2 --time-max-ms 5000 --no-self-test",
    "EMINENCE_CACHE_FILE=answers.sqlite eminence serve --reflection",
    "eminence serve --stdio --threads 2 < questions.jsonl > answers.jsonl",
    params=options(),
    context_settings={"auto_envvar_prefix": PREFIX},
)
@click.pass_context
def serve(ctx: click.Context, /, **_settings: object) -> NoReturn:
    """Serve over gRPC, until SIGTERM or SIGINT; with --stdio, answer JSON lines until the end of the input.

    Each flag is also an environment variable (EMINENCE_TIME_MAX_MS=5000) and a line of the file that --config names
    (time_max_ms = 5000). Flags override variables; variables override the file.
    """
    # This process forks no other. gRPC reads the variable when it is imported.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    try:
        settings = read_settings(ctx)
        with importing("server", "eminence serve"):
            from server.app import App
            from server.stdio_app import StdioApp
            from server.telemetry import log_as_json

        end_log = log_as_json(settings.log)
        try:
            code = asyncio.run((StdioApp if settings.stdio else App)(settings).run())
        finally:
            end_log()
    except SettingsError as error:
        raise Failure(str(error)) from None
    except BrokenPipeError:  # click would exit with another code
        raise OutputClosed from None
    # Not `sys.exit`, which would wait for a search that does not end.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
