"""Tokens of clients: the file that a server reads, and the metadata that a client sends."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def client_lines(name: str, token: str) -> str:
    """Return the lines of a client in a file of tokens; lines with its quotas may follow."""
    return f'[{name}]\ntoken_sha256 = "{digest(token)}"\n'


def write_tokens(folder: Path, token: str) -> str:
    """Write a file with the token of a client called alice; return its path."""
    path = folder / "tokens.toml"
    path.write_text(client_lines("alice", token), "utf-8")
    return str(path)


def as_client(token: str) -> Any:
    """Return the keyword arguments of a call by the client with this token."""
    return {"metadata": (("authorization", f"Bearer {token}"),), "timeout": 60}
