"""Write the sections of pages that commands make from data: each command replaces its own section, and no other."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from engine_cy import Game
from solver.expected_signature import signature_of
from solver.pool import cores

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SECTION = "<!-- {name} -->\n{text}<!-- end of {name} -->\n"


def replace_section(path: Path, name: str, text: str) -> None:
    """Replace the section of this name; a new one goes to the end of the page, in the order of names."""
    page = path.read_text() if path.exists() else ""
    sections = dict(re.findall(r"<!-- ([^>]+) -->\n(.*?)<!-- end of \1 -->\n", page, re.DOTALL))
    sections[name] = f"{text.strip()}\n"
    head = page.partition("<!-- ")[0].rstrip()
    written = [SECTION.format(name=name, text=text) for name, text in sorted(sections.items())]
    path.write_text("\n".join([f"{head}\n", *written]))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def picture(path: Path, page: Path, description: str) -> str:
    """Return the reference of a page to a picture."""
    return f"![{description}]({os.path.relpath(path, page.parent)})\n"


def provenance(game: Game, command: str, seed: int) -> str:
    """Return the sentence that says how to measure the figures again."""
    return (
        f"Measured at commit {commit()}, signature {signature_of(game)}, seed {seed}, on {cores()} cores of "
        f"{processor()}, by `{command}`.\n"
    )


def commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, check=False)
    return done.stdout.decode().strip() or "unknown"


def processor() -> str:
    """Return the name of the processor, as the system knows it."""
    try:
        names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        names = []
    return names[0] if names else platform.machine()
