"""Print docs/reference/game_rules.md, generated from the docstrings of GameRules: python docs/reference/make.py."""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise

from engine_cy import game_rules

HEAD = """# GameRules

The class to subclass for a game in Python: `from eminence import GameRules`. [Your own game in an
hour](../your_own_game.md) shows it in use. This page is generated from `engine_cy/game_rules.py`: `python
docs/reference/make.py > docs/reference/game_rules.md`.
"""


def page() -> str:
    """Return the page: the class, its attributes, and its methods under the headings of the source."""
    source = inspect.getsource(game_rules)
    [rules] = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    parts = [HEAD, ast.get_docstring(rules) or "", "## Attributes"]
    members = rules.body[1:]
    for member, text in pairwise(members):
        if isinstance(member, ast.AnnAssign) and isinstance(text, ast.Expr):
            parts += [f"### `{ast.unparse(member)}`", str(ast.literal_eval(text.value))]
    methods = [member for member in members if isinstance(member, ast.FunctionDef) and ast.get_docstring(member)]
    required = [method for method in methods if method.decorator_list]
    optional = [method for method in methods if not method.decorator_list]
    for heading, group in {"Required methods": required, "Optional methods": optional}.items():
        parts.append(f"## {heading}")
        for method in group:
            parts += [f"### `{signature(method)}`", ast.get_docstring(method) or ""]
    return "\n\n".join(fill(part) for part in parts) + "\n"


def signature(method: ast.FunctionDef) -> str:
    """Return a method as it is called, without `self`."""
    arguments = ast.unparse(method.args).removeprefix("self").removeprefix(", ")
    returned = "" if method.returns is None else f" -> {ast.unparse(method.returns)}"
    return f"{method.name}({arguments}){returned}"


def fill(text: str) -> str:
    """Wrap paragraphs at 120 columns."""
    paragraphs = [paragraph for paragraph in text.strip().split("\n\n") if paragraph]
    return "\n\n".join(
        textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)
        if not paragraph.startswith("#")
        else paragraph
        for paragraph in paragraphs
    )


if __name__ == "__main__":
    print(page(), end="")
