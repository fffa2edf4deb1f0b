"""Make docs/contract.md from the .proto files and their comments: python -m server.codec.reference."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from google.protobuf import descriptor_pb2 as pb

from server.games import adapters_with_messages

PROTO = Path(__file__).parents[2] / "proto"
TOOLS = Path(__file__).parents[2] / "build" / "tools" / "bin" / "python"
FOLDER = "eminence/v1"
# In the order in which a newcomer reads them.
FILES = {
    "solver": "the adviser: what to play, and why",
    "view": "the view of one player",
    **{adapter.member: adapter.about for adapter in adapters_with_messages()},
    "seat": "the seats at a table",
    "record": "records of games",
    "rules": "the rules as data, and text to messages",
    "referee": "dealing and playing, for apps without an engine",
    "table": "games of people and engines, whose cards only the server knows",
    "error_reason": "the reasons of refusals",
}

HEAD = """# The contract

`python -m server.codec.reference > docs/contract.md` makes this page from the comments of `proto/eminence/v1/`, and
`tests/docs/test_contract_page.py` checks it. [service.md](service.md) explains how to run the server,
[tutorial.md](tutorial.md) how to call it, [records.md](records.md) how the messages look as JSON.

- The server sees whether a field is set if it is `optional` or a message; other fields have a default value.
- Of the fields of one `oneof`, at most one is set.
- Fields are only added, never changed. The server refuses fields and values that it does not know.

"""

# Field numbers in the descriptors of a file, a message, an enum and a service. Paths of them identify comments.
MESSAGES, ENUMS, SERVICES = 4, 5, 6
FIELDS, ONEOFS = 2, 8
VALUES = METHODS = 2

Where = tuple[int, ...]
Field = pb.FieldDescriptorProto


class Source(NamedTuple):
    """A file of the contract, and its comments by the path of their element."""

    file: pb.FileDescriptorProto
    comments: dict[Where, str]

    def paragraphs(self, *where: int) -> str:
        """Return the paragraphs of a comment, each on one line."""
        comment = self.comments.get(where, "").strip().split("\n\n")
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in comment)

    def cell(self, *where: int) -> str:
        """Return a comment as a cell of a table."""
        return " ".join(self.paragraphs(*where).split()).replace("|", r"\|")


def page() -> str:
    """Return the whole page."""
    sources = read_sources()
    contents = "".join(f"| [{name}.proto](#{name}proto) | {what} |\n" for name, what in FILES.items())
    return f"{HEAD}| | |\n|---|---|\n{contents}" + "".join(_chapter(name, sources[name]) for name in FILES)


def read_sources() -> dict[str, Source]:
    """Return the files of the contract by name. `make build` installs protoc for the stubs."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "contract.binpb"
        protos = sorted(str(path) for path in (PROTO / FOLDER).glob("*.proto"))
        roots = [f"-I{root}" for root in (PROTO, PROTO / "third_party")]
        wanted = ["--include_source_info", f"--descriptor_set_out={image}"]
        subprocess.run([TOOLS, "-m", "grpc_tools.protoc", *roots, *wanted, *protos], check=True)
        found = pb.FileDescriptorSet.FromString(image.read_bytes())
    return {Path(file.name).stem: _with_comments(file) for file in found.file}


def _with_comments(file: pb.FileDescriptorProto) -> Source:
    return Source(file, {tuple(place.path): place.leading_comments for place in file.source_code_info.location})


def _chapter(name: str, source: Source) -> str:
    """Return the chapter of a file: its services, messages and enums, in the file's order."""
    parts = [f"\n## {name}.proto\n"]
    for i, service in enumerate(source.file.service):
        calls = (
            f"| `{call.name}` | {_message(call.input_type, call.client_streaming)} | "
            f"{_message(call.output_type, call.server_streaming)} | {source.cell(SERVICES, i, METHODS, j)} |\n"
            for j, call in enumerate(service.method)
        )
        parts.append(_section(source, service.name, (SERVICES, i), ("call", "asks", "answers", ""), calls))
    for i, message in enumerate(source.file.message_type):
        fields = (
            f"| {field.number} | `{field.name}` | {_type(field, message)} | {_meaning(source, message, i, j)} |\n"
            for j, field in enumerate(message.field)
        )
        parts.append(_section(source, message.name, (MESSAGES, i), ("", "field", "type", ""), fields))
    for i, enum in enumerate(source.file.enum_type):
        values = (
            f"| {value.number} | `{value.name}` | {source.cell(ENUMS, i, VALUES, j)} |\n"
            for j, value in enumerate(enum.value)
        )
        parts.append(_section(source, enum.name, (ENUMS, i), ("", "value", ""), values))
    return "".join(parts)


def _section(source: Source, name: str, where: Where, columns: tuple[str, ...], rows: Iterator[str]) -> str:
    """Return a heading, the comment, and a table of `rows`, if there are any."""
    head = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n"
    inside = "".join(rows)
    return f"\n### {name}\n\n{source.paragraphs(*where)}\n" + (f"\n{head}{inside}" if inside else "")


def _message(full_name: str, is_stream: bool) -> str:
    return ("stream of " if is_stream else "") + _linked(full_name)


def _type(field: Field, message: pb.DescriptorProto) -> str:
    """Return a field's type as a .proto file writes it."""
    named = field.type in (Field.TYPE_MESSAGE, Field.TYPE_ENUM)
    kind = _linked(field.type_name) if named else Field.Type.Name(field.type).removeprefix("TYPE_").lower()
    if field.label == Field.LABEL_REPEATED:
        return f"repeated {kind}"
    if field.proto3_optional:
        return f"optional {kind}"
    if field.HasField("oneof_index"):
        return f"{kind}, of `{message.oneof_decl[field.oneof_index].name}`"
    return kind


def _meaning(source: Source, message: pb.DescriptorProto, i: int, j: int) -> str:
    """Return a field's comment; for the first field of a oneof, preceded by the oneof's comment."""
    field = message.field[j]
    own = source.cell(MESSAGES, i, FIELDS, j)
    before = message.field[j - 1] if j else Field()
    if field.proto3_optional or not field.HasField("oneof_index"):
        return own
    if before.HasField("oneof_index") and before.oneof_index == field.oneof_index:
        return own
    choice = message.oneof_decl[field.oneof_index].name
    return f"`{choice}`: {source.cell(MESSAGES, i, ONEOFS, field.oneof_index)} {own}"


def _linked(full_name: str) -> str:
    """Return a link to a message or enum of ours; for one of Google's, its name."""
    name = full_name.removeprefix(".")
    ours = FOLDER.replace("/", ".") + "."
    return f"[{name.removeprefix(ours)}](#{name.removeprefix(ours).lower()})" if name.startswith(ours) else f"`{name}`"


if __name__ == "__main__":
    print(page(), end="")
