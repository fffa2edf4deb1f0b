"""The files of the page, read once. Without a built page, `/` says what is here."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import NamedTuple

from google.protobuf.descriptor import ServiceDescriptor

# The built page, and the pages of the project, which a server that runs from its tree links to.
BUNDLE = Path(__file__).parent / "static"
DOCS = Path(__file__).parents[2] / "docs"
LINKED = ("http.md", "contract.md", "notation.md")
# Built files have a hash of their content in their names.
_FOREVER = ((b"cache-control", b"public, max-age=31536000, immutable"),)
_KINDS = {".js": "text/javascript", ".md": "text/plain", ".svg": "image/svg+xml", ".webmanifest": "application/json"}


class File(NamedTuple):
    """A file, as it is sent."""

    content: bytes
    kind: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


def read_files(services: Iterable[ServiceDescriptor], address: str, bundle: Path = BUNDLE) -> dict[str, File]:
    """Return the files by their paths; `address` is that of the server, such as http://127.0.0.1:8080."""
    files = {f"/docs/{name}": _read(DOCS / name) for name in LINKED if (DOCS / name).is_file()}
    for path in sorted(bundle.rglob("*")):
        if path.is_file():
            name = path.relative_to(bundle).as_posix()
            files[f"/{name}"] = _read(path, _FOREVER if name.startswith("assets/") else ())
    if "/index.html" in files:
        files["/"] = files["/index.html"]
    else:
        files["/"] = File(_plain_page(services, address, files).encode(), "text/html; charset=utf-8")
    return files


def _read(path: Path, headers: tuple[tuple[bytes, bytes], ...] = ()) -> File:
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if kind.startswith("text/") or kind == "image/svg+xml":
        kind += "; charset=utf-8"
    return File(path.read_bytes(), kind, headers)


def _plain_page(services: Iterable[ServiceDescriptor], address: str, files: Iterable[str]) -> str:
    methods = [
        f"<li><code>/{service.full_name}/{method.name}</code></li>"
        for service in services
        for method in service.methods
        if not method.client_streaming
    ]
    links = [f'<li><a href="{escape(path)}">{escape(path.removeprefix("/"))}</a></li>' for path in files]
    example = f"curl --json '{{}}' {address}/eminence.v1.RulesService/ListGames"
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Eminence</title></head>\n<body>\n'
        "<h1>Eminence</h1>\n"
        "<p>This server says what to play in card games with hidden information. It has no page to play on: at this "
        "address it answers programs, by Connect, gRPC-Web and JSON.</p>\n"
        f"<pre>{escape(example)}</pre>\n"
        "<p>The methods, each called by POST:</p>\n"
        f"<ul>\n{chr(10).join(methods)}\n</ul>\n"
        + (f"<p>More:</p>\n<ul>\n{chr(10).join(links)}\n</ul>\n" if links else "")
        + "</body>\n</html>\n"
    )
