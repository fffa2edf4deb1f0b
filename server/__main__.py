"""python -m server: the adviser over gRPC, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

from server.settings import SettingsError, read_settings


def main(argv: Sequence[str], program: str = "python -m server") -> None:
    # Here no process is forked, and gRPC need not prepare for it. It has to know before it is imported.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from server.app import App
    from server.telemetry import log_as_json

    try:
        settings = read_settings(argv, os.environ, program)
        end_log = log_as_json(settings.log)
        code = asyncio.run(_run(App, settings))
    except (SettingsError, OSError, RuntimeError) as error:
        raise SystemExit(f"server: {error}") from None
    end_log()
    # Not `sys.exit`: a search that does not end must not hold the process.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


async def _run(app: type, settings: object) -> int:
    code: int = await app(settings).run()
    return code


if __name__ == "__main__":
    main(sys.argv[1:])
