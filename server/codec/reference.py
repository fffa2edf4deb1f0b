"""python -m server.codec.reference: docs/contract.md, made from the .proto files and their comments."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from google.protobuf import descriptor_pb2 as pb

PROTO = Path(__file__).parents[2] / "proto"
FOLDER = "eminence/v1"
# In the order in which a newcomer asks.
FILES = {
    "solver": "what to play, and why",
    "view": "what one player sees",
    "oriflamme": "tables and actions of Oriflamme and its prototype",
    "castle_village_port": "those of Castle, Village, Port",
    "seat": "who is who",
    "record": "games",
    "rules": "the rules as data, and text to messages",
    "referee": "dealing and playing, for apps without an engine",
    "error_reason": "why something was refused",
}

HEAD = """# The contract

This page is made from the comments of `proto/eminence/v1/`: `python -m server.codec.reference > docs/contract.md`;
`tests/docs/test_contract_page.py` holds it to them. [service.md](service.md) tells how to run the server,
[tutorial.md](tutorial.md) how to call it, [records.md](records.md) how the messages look as JSON.

- A field that is `optional`, or of a message, can be told from one that was left out; others have a default.
- Of the fields of one `oneof`, at most one is set.
- Fields are only added, never changed; fields and values that the server does not know are refused.

"""

# How descriptors number what is in a file, a message, an enum and a service; their comments are found by it.
MESSAGES, ENUMS, SERVICES = 4, 5, 6
FIELDS, ONEOFS = 2, 8
VALUES = METHODS = 2

Where = tuple[int, ...]
Field = pb.FieldDescriptorProto


class Source(NamedTuple):
    """A file, and its comments by where they stand."""

    file: pb.FileDescriptorProto
    comments: dict[Where, str]

    def told(self, *where: int) -> str:
        """The paragraphs of a comment, each on one line."""
        paragraphs = self.comments.get(where, "").strip().split("\n\n")
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    def cell(self, *where: int) -> str:
        """The same in a row of a table."""
        return " ".join(self.told(*where).split()).replace("|", r"\|")


def page() -> str:
    """The whole page."""
    sources = read_sources()
    contents = "".join(f"| [{name}.proto](#{name}proto) | {what} |\n" for name, what in FILES.items())
    return f"{HEAD}| | |\n|---|---|\n{contents}" + "".join(_chapter(name, sources[name]) for name in FILES)


def read_sources() -> dict[str, Source]:
    """Every file of the contract, by its name. protoc comes with grpcio-tools, which the build needs, too."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "contract.binpb"
        protos = sorted(str(path) for path in (PROTO / FOLDER).glob("*.proto"))
        roots = [f"-I{root}" for root in (PROTO, PROTO / "third_party", files("grpc_tools") / "_proto")]
        wanted = ["--include_source_info", f"--descriptor_set_out={image}"]
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *roots, *wanted, *protos], check=True)
        found = pb.FileDescriptorSet.FromString(image.read_bytes())
    return {Path(file.name).stem: _with_comments(file) for file in found.file}


def _with_comments(file: pb.FileDescriptorProto) -> Source:
    return Source(file, {tuple(place.path): place.leading_comments for place in file.source_code_info.location})


def _chapter(name: str, source: Source) -> str:
    """The services of a file, its messages and its enums, each as they stand there."""
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
    """A heading, what is said of the thing, and a table of what is in it, if anything is."""
    head = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n"
    inside = "".join(rows)
    return f"\n### {name}\n\n{source.told(*where)}\n" + (f"\n{head}{inside}" if inside else "")


def _message(full_name: str, is_stream: bool) -> str:
    return ("stream of " if is_stream else "") + _linked(full_name)


def _type(field: Field, message: pb.DescriptorProto) -> str:
    """A field's type, as it is written in a .proto file."""
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
    """A field's comment; the first of a oneof brings what is said of all of them."""
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
    """A link to one of ours; of Google's, the name."""
    name = full_name.removeprefix(".")
    ours = FOLDER.replace("/", ".") + "."
    return f"[{name.removeprefix(ours)}](#{name.removeprefix(ours).lower()})" if name.startswith(ours) else f"`{name}`"


if __name__ == "__main__":
    print(page(), end="")
