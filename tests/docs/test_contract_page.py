"""docs/contract.md documents proto/ and is current."""

from __future__ import annotations

from program import ROOT

from eminence.v1 import solver_pb2, view_pb2
from server.codec import reference

PAGE = (ROOT / "docs" / "contract.md").read_text()


def test_the_page_is_current():
    assert reference.page() == PAGE, "python -m server.codec.reference > docs/contract.md"


def test_the_page_has_every_file_of_the_contract():
    assert set(reference.FILES) == set(reference.read_sources())


def test_every_field_is_on_the_page_and_has_a_meaning():
    for message in (*solver_pb2.DESCRIPTOR.message_types_by_name.values(), view_pb2.View.DESCRIPTOR):
        section = PAGE.split(f"\n### {message.name}\n")[1].split("\n### ")[0]
        for field in message.fields:
            assert f"| {field.number} | `{field.name}` | " in section
    assert "|  |\n" not in PAGE.replace("| | |\n", "").replace("|  |\n|---", "")
    assert "### \n\n\n" not in PAGE


def test_types_are_written_as_in_proto_files():
    for row in (
        "| 2 | `iterations` | optional int64 | ",
        "| 5 | `restrict_to` | repeated [Action](#action) | ",
        "| 1 | `item` | [BatchItem](#batchitem), of `command` | `command`: The command. Required. Analyze ",
        "| 1 | `time` | `google.protobuf.Duration` | ",
        "| `Analyze` | [AnalyzeRequest](#analyzerequest) | stream of [AnalyzeResponse](#analyzeresponse) | ",
    ):
        assert row in PAGE
