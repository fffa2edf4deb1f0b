"""Run the command `eminence serve`: python -m server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from server.cli.commands.serve import serve
from server.cli.exit_codes import run_to_exit_code


def main(arguments: Sequence[str]) -> NoReturn:
    sys.exit(run_to_exit_code(lambda: serve.main(list(arguments), prog_name="python -m server", standalone_mode=False)))


if __name__ == "__main__":
    main(sys.argv[1:])
