"""The JSON mapping of protobuf: messages as plain values for JSON, and back.

`json_format` writes the same values; it looks every field up anew, and takes four times as long.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from engine_cy.errors import listed
from server.codec.fields import path_in
from server.refusals import Refusal

M = TypeVar("M", bound=Message)

_WIDE = {
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
}
_PLAIN = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_BOOL,
    FieldDescriptor.CPPTYPE_STRING,
}
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: "-2^31..2^31-1",
    FieldDescriptor.CPPTYPE_INT64: "-2^63..2^63-1",
    FieldDescriptor.CPPTYPE_UINT32: "0..2^32-1",
    FieldDescriptor.CPPTYPE_UINT64: "0..2^64-1",
}
_WELL_KNOWN = {
    "Duration": 'a duration in seconds, such as "1.5s"',
    "Any": 'an object with the key "@type" and the fields of that message',
}
# Longest part of a value in an error.
_SHOWN_MAX = 200

# --- writing ----------------------------------------------------------------------------------------------------


def to_json(message: Message) -> Any:
    """Return a message in the JSON mapping: an object, or for a well-known type its own form."""
    return _writer(message.DESCRIPTOR)(message)


@cache
def _writer(descriptor: Descriptor) -> Callable[[Any], Any]:
    """Return the function that writes messages of a type."""
    if descriptor.full_name == "google.protobuf.Duration":
        return lambda duration: duration.ToJsonString()
    if descriptor.full_name.startswith("google.protobuf."):
        return json_format.MessageToDict

    fields: dict[FieldDescriptor, tuple[str, Callable[[Any], Any] | None]] = {}

    def write(message: Any) -> dict[str, Any]:
        written = {}
        for field, value in message.ListFields():
            known = fields.get(field)
            if known is None:
                known = fields[field] = field.json_name, _field_writer(field)
            name, convert = known
            written[name] = value if convert is None else convert(value)
        return written

    return write


def _field_writer(field: FieldDescriptor) -> Callable[[Any], Any] | None:
    """Return the function that writes values of a field; None if they stay unchanged."""
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        write = _value_writer(kind.fields_by_name["value"]) or (lambda value: value)
        return lambda values: {str(key): write(value) for key, value in values.items()}
    convert = _value_writer(field)
    if not field.is_repeated:
        return convert
    elif convert is None:
        return list
    return lambda values: [convert(value) for value in values]


def _value_writer(field: FieldDescriptor) -> Callable[[Any], Any] | None:
    if field.message_type is not None:
        return _writer(field.message_type)
    elif field.enum_type is not None:
        return _enum_writer(field.enum_type)
    elif field.type in _WIDE:
        return str
    elif field.type == FieldDescriptor.TYPE_DOUBLE:
        return _write_double
    assert field.cpp_type in _PLAIN, f"{field.full_name}: no message of the contract has such a field"
    return None


def _enum_writer(enum: EnumDescriptor) -> Callable[[int], Any]:
    names = {value.number: value.name for value in enum.values}
    return lambda number: names.get(number, number)


def _write_double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


# --- reading ----------------------------------------------------------------------------------------------------


def read_object(text: str | bytes) -> dict[str, Any]:
    """Parse an object of JSON; refuse other values, duplicate keys, and numbers that JSON does not have."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise Refusal("MALFORMED_MESSAGE", "", "JSON: this is not UTF-8") from None
    except RecursionError:
        raise Refusal("MALFORMED_MESSAGE", "", "JSON: the objects are nested too deeply") from None
    except ValueError as error:
        raise Refusal("MALFORMED_MESSAGE", "", f"JSON: {_shown(str(error).partition(';')[0])}") from None
    if not isinstance(value, dict):
        raise Refusal("MALFORMED_MESSAGE", "", f"JSON: {_quoted(value)} is not an object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {_shown(name)!r} occurs twice in one object")
    return fields


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def from_json(fields: dict[str, Any], message: M) -> M:
    """Fill in an empty message from its JSON mapping, and return it; refuse what it cannot hold, by its path."""
    try:
        json_format.ParseDict(fields, message)
    except RecursionError:
        raise Refusal("MALFORMED_MESSAGE", "", "JSON: the objects are nested too deeply") from None
    except (json_format.Error, AttributeError, LookupError, TypeError, ValueError) as error:
        # The library's errors rarely have a path, and some are several lines long.
        kind: Any = message.DESCRIPTOR
        _check_object(fields, kind, "")
        raise Refusal("MALFORMED_MESSAGE", "", f"JSON: {_shown(str(error))}") from None
    return message


def _check_object(fields: Any, kind: Descriptor, path: str) -> None:
    """Refuse the first value that a message of this type cannot hold."""
    if not isinstance(fields, dict):
        raise _misfit(fields, path, f"an object ({kind.name})")
    members: dict[str, str] = {}
    by_name = {name: field for field in kind.fields for name in (field.name, field.json_name)}
    for name, value in fields.items():
        field = by_name.get(name)
        if field is None:
            known = listed(known.name for known in kind.fields)
            raise Refusal("UNKNOWN_FIELD", path_in(path, _shown(name)), f"is not a field of {kind.name} ({known})")
        if value is None:
            continue
        key = field.name if field.containing_oneof is None else field.containing_oneof.name
        if (other := members.setdefault(key, name)) != name:
            raise Refusal("CONTRADICTION", path_in(path, field.name), f"is set beside {other!r}; one is accepted")
        if not field.is_repeated:
            _check_value(value, field, path_in(path, field.name))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                _check_value(item, field, f"{path_in(path, field.name)}[{number}]")
        else:
            raise _misfit(value, path_in(path, field.name), "a list")


def _check_value(value: Any, field: FieldDescriptor, path: str) -> None:
    kind: Any = field.message_type
    if kind is not None and not kind.full_name.startswith("google.protobuf."):
        _check_object(value, kind, path)
        return
    try:
        alone = [value] if field.is_repeated else value
        json_format.ParseDict({field.name: alone}, _empty(field))
    except (json_format.Error, AttributeError, LookupError, TypeError, ValueError):
        if field.enum_type is not None and isinstance(value, str):
            names = listed(known.name for known in field.enum_type.values if known.number)
            why = f"{_quoted(value)} is not a {field.enum_type.name} ({names})"
            raise Refusal("UNKNOWN_VALUE", path, why) from None
        raise _misfit(value, path, _accepted(field)) from None


def _empty(field: FieldDescriptor) -> Message:
    kind: Any = field.containing_type
    return GetMessageClass(kind)()


def _accepted(field: FieldDescriptor) -> str:
    """Describe the values of a field that is no object."""
    if field.message_type is not None:
        return _WELL_KNOWN.get(field.message_type.name, f"a {field.message_type.name}")
    elif field.enum_type is not None:
        return f"a text with the name of a {field.enum_type.name}"
    elif field.cpp_type in _RANGES:
        return f"an integer in {_RANGES[field.cpp_type]}"
    return {FieldDescriptor.CPPTYPE_BOOL: "true or false", FieldDescriptor.CPPTYPE_STRING: "a text"}.get(
        field.cpp_type, "a number"
    )


def _misfit(value: Any, path: str, accepted: str) -> Refusal:
    return Refusal("MALFORMED_MESSAGE", path, f"{_quoted(value)} is not {accepted}")


def _quoted(value: Any) -> str:
    return _shown(json.dumps(value), 40)


def _shown(text: str, most: int = _SHOWN_MAX) -> str:
    """Return the beginning of a text on one line."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}..."
