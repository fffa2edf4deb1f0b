"""Find turns of phrase that are not plain English: headless clauses, missing actors, paraphrased terms.

`python tests/support/language.py PATH...` lists those of files and folders.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Passage(NamedTuple):
    """Text for a reader, and the line of its file on which it begins."""

    line: int
    text: str


class Turn(NamedTuple):
    """A phrase that has to be rewritten."""

    place: str
    phrase: str

    def __str__(self) -> str:
        return f"{self.place}: {self.phrase}"


# At the beginning of a clause that is not a question. A name in backquotes is a row of `x`.
CLAUSE = re.compile(
    r"(?:who|whoever|whose|what(?! to\b| is stored in there)|whatever(?! x+\b)|those (?:that|which|who|for)"
    r"|all that)\b",
    re.IGNORECASE,
)
# At the beginning of a sentence only. "That keeps it short." has a subject, "That it is short is tested." does not.
SENTENCE = re.compile(
    r"(?:That(?! \w+s\b)|So(?! as to\b)|Told|Said|Asked|Nor|Not to|The same (?:by|as|for)|The one \w+ that)\b"
)
ANYWHERE = re.compile(
    "|".join(
        (
            # Amounts and conditions without a name.
            r"\bso (?:many|long|much|few|little|sure|large)\b",
            r"\bhowever little\b",
            r"\bas (?:\w+ as )?(?:it )?may be\b",
            # Passives without an actor, and verbs that stand for another.
            r"\b(?:is|are|was|were|be|been|being) (?:\w+ly )?(?:not )?(?:told|said|asked|had|begun|gone on)\b",
            r"\bbegun\b",
            r"\b(?:have|has|had) it that\b",
            r"\bcomes? to in\b",
            r"\bit is (?:not|only) [\w ]{1,30}\b(?:that|who)\b",
            # People without a name.
            r"\b(?:nobody|somebody|everybody|whoever|he|his|him|himself)\b",
            r"\bwhatever (?:the|it|they|is (?:left|said|known))\b",
            # Clauses without a head.
            r"\b(?:all|much|little) that\b",
            r"\b(?:there|that) (?:is|are|were) (?:none|no other|not \w+[.;:,])",
            r"\bis none of\b",
            r"\bof no use\b",
            r"\bis of (?:some|no|so)\b",
            r"\b(?:for|to|of|by|than|as|with|from|ask|asks|asked) who\b",
            r"\b(?:for|of|by|than|as|with|from|at|means|reveal|judge) what\b(?! (?:if|order|to|kind)\b)",
            r"\bhow \w+ what\b",
            r"\bwhere (?:it does not|that is not|nothing|it is not|there is no|one)\b",
        )
    ),
    re.IGNORECASE,
)
# A token of source text: a run of adjacent strings, or of comments that begin lines.
QUOTED = r'"""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"'
STRING = rf"""(?:[rbfuRBFU]{{0,2}}(?:{QUOTED}|{QUOTED.replace('"', "'")}))"""
PYTHON = re.compile(rf"(?P<string>{STRING}(?:\s+{STRING})*)|(?P<comment>#[^\n]*(?:\n[ \t]*#[^\n]*)*)", re.DOTALL)
PROTO = re.compile(rf"(?P<string>{STRING})|(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*)", re.DOTALL)
SHELL = re.compile(r"(?P<comment>(?:^|(?<=\s))#[^\n]*(?:\n[ \t]*#[^\n]*)*)", re.MULTILINE)


def blank(text: str) -> str:
    """Replace text by spaces, and keep its lines."""
    return re.sub(r"[^\n]", " ", text)


def pages(text: str) -> Iterator[Passage]:
    """Yield the headings, paragraphs, items and cells of a Markdown page, without its blocks of code."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", lambda block: blank(block.group()), text, flags=re.DOTALL | re.MULTILINE)
    for part in re.finditer(r"#+ [^\n]*|(?:(?!\n\s*\n|\n\s*(?:[-*]|\d+\.|\||#+)\s| \| ).)+", text, re.DOTALL):
        yield Passage(
            text.count("\n", 0, part.start()) + 1, re.sub(r"(?m)^[\s>|#*-]+|^\s*\d+\. ", blank_match, part[0])
        )


def blank_match(part: re.Match[str]) -> str:
    return blank(part.group())


def comments_and_strings(tokens: re.Pattern[str]) -> Callable[[str], Iterator[Passage]]:
    """Make a reader of source text that yields its comments, and the strings that hold prose."""

    def read(text: str) -> Iterator[Passage]:
        for token in tokens.finditer(text):
            prose = re.sub(r"(?m)^\s*(?:#+|//+):?|[\"'][ \t\n]+[rf]?[\"']|\"{3}|'{3}", blank_match, token.group())
            if token.lastgroup == "comment" or len(prose.split()) > 3:
                yield Passage(text.count("\n", 0, token.start()) + 1, prose.strip("\"'"))

    return read


READERS: dict[str, Callable[[str], Iterator[Passage]]] = {
    ".md": pages,
    **dict.fromkeys((".py", ".pyi", ".pyx", ".pxd"), comments_and_strings(PYTHON)),
    ".proto": comments_and_strings(PROTO),
    **dict.fromkeys((".toml", ".yaml", ".yml", ".service", ".dockerignore", ""), comments_and_strings(SHELL)),
}


def docstrings(text: str) -> Iterator[Passage]:
    """Yield the docstrings of a Python module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Passage(node.lineno if hasattr(node, "lineno") else 1, ast.get_docstring(node) or "")


def phrases(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place and the words of each turn in a passage. Text in backquotes is a name."""
    original, text = text, re.sub(r"`+[^`]+`+|\]\([^)\s]*\)", lambda name: re.sub(r"\S", "x", name.group()), text)
    for clause in re.finditer(r"(?:[^.!?;:\n]|[.!?;:](?!\s)|\n)+[.!?;:]*", text):
        words = clause.group()
        start = clause.start() + len(words) - len(words.lstrip(" \n\t(\"'_*"))
        begins_sentence = clause.start() == 0 or text[clause.start() - 1] in ".!?"
        question = words.rstrip().endswith("?")
        for match in (
            None if question else CLAUSE.match(text, start),
            SENTENCE.match(text, start) if begins_sentence and not question else None,
            *ANYWHERE.finditer(text, clause.start(), clause.end()),
        ):
            if match:
                yield match.start(), " ".join(original[match.start() : match.end() + 30].split())


def turns(passages: Iterable[Passage], name: str) -> tuple[list[Turn], int]:
    """Return the turns in the passages of a file, and how many words these have."""
    result, words = [], 0
    for line, text in passages:
        words += len(text.split())
        result += [Turn(f"{name}:{line + text.count(chr(10), 0, place)}", phrase) for place, phrase in phrases(text)]
    return result, words


def turns_of(path: Path) -> tuple[list[Turn], int]:
    """Return the turns in a file, and how many words its prose has."""
    return turns(READERS[path.suffix](path.read_text()), str(path))


def main(names: list[str]) -> None:
    """Print the turns of files and folders."""
    count = words = 0
    for root in map(Path, names):
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path == root or (path.suffix in READERS and path.suffix and "_pb2" not in path.name):
                hits, n_words = turns_of(path)
                count, words = count + len(hits), words + n_words
                for turn in hits:
                    print(turn)
    print(f"{count} in {words} words: {10_000 * count / max(words, 1):.1f} in 10,000")


if __name__ == "__main__":
    main(sys.argv[1:])
