"""python -m server: the command `eminence serve`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from server.cli.failing import guarded
from server.cli.serve import serve


def main(arguments: Sequence[str]) -> NoReturn:
    sys.exit(guarded(lambda: serve.main(list(arguments), prog_name="python -m server", standalone_mode=False)))


if __name__ == "__main__":
    main(sys.argv[1:])
