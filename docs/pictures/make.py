"""Write the picture of README.md, a hint in a game for three: `python docs/pictures/make.py [FILE]`."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

PICTURE = Path(__file__).with_name("hint.svg")
GAME = ["-m", "eminence", "play", "--seats", "me,level-3,level-5", "--seed", "1"]
MOVES = ["place Shapeshifter front", "keep", "place Soldier on 0", "keep", "hint"]
COLUMNS = 80


def screen() -> Text:
    """Play the moves; return the last screen, as a terminal shows it."""
    done = subprocess.run(
        [sys.executable, *GAME],
        input="\n".join([*MOVES, "quit"]),
        env={**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "NO_COLOR": "", "TERM": "xterm"},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = done.stdout.rstrip("> \n")
    last = shown[shown.rindex("Round ") :]
    # A terminal echoes the word typed at the last prompt.
    before, prompt, answer = last.rpartition("> ")
    return Text.from_ansi(f"{before}{prompt}{MOVES[-1]}\n{answer}")


def main(path: Path = PICTURE) -> None:
    console = Console(record=True, file=io.StringIO(), width=COLUMNS, force_terminal=True, color_system="truecolor")
    console.print(screen())
    svg = console.export_svg(title="eminence play", theme=DIMMED_MONOKAI)
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)  # no page loads fonts from elsewhere
    path.write_text("".join(f"{line.rstrip()}\n" for line in svg.splitlines()))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
