"""The files of the page, read once. Its sources are in `board/`; `.ci/web write` builds it."""

from __future__ import annotations

import gzip
import mimetypes
from pathlib import Path
from typing import NamedTuple

BUNDLE = Path(__file__).parent / "static"
# Built files have a hash of their content in their names.
_FOREVER = ((b"cache-control", b"public, max-age=31536000, immutable"),)
_KINDS = {".js": "text/javascript", ".md": "text/plain", ".svg": "image/svg+xml", ".webmanifest": "application/json"}


class File(NamedTuple):
    """A file, as it is sent."""

    content: bytes
    kind: str
    headers: tuple[tuple[bytes, bytes], ...] = ()
    # The content after gzip, for a client that accepts it. No file holds a secret, whose length this could tell.
    packed: bytes = b""


def read_files(bundle: Path = BUNDLE) -> dict[str, File]:
    """Return the files by their paths."""
    files = {}
    for path in sorted(bundle.rglob("*")):
        if path.is_file():
            name = path.relative_to(bundle).as_posix()
            files[f"/{name}"] = _read(path, _FOREVER if name.startswith("assets/") else ())
    files["/"] = files["/index.html"]
    return files


def _read(path: Path, headers: tuple[tuple[bytes, bytes], ...] = ()) -> File:
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if kind.startswith("text/") or kind == "image/svg+xml":
        kind += "; charset=utf-8"
    content = path.read_bytes()
    return File(content, kind, headers, gzip.compress(content, 9, mtime=0))
