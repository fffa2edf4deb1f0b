"""The suite of promises: its figures, random requests and attacks."""

from __future__ import annotations

import itertools
import random
from typing import Any

import grpc
import pytest

from benchmarks import promises
from benchmarks.servers import SUGGEST, serving
from eminence.v1 import solver_pb2 as pb


def test_every_figure_has_a_goal_a_meaning_and_a_measure():
    measured = list(itertools.chain.from_iterable(promises.MEASURES))
    assert list(promises.GOALS) == list(promises.MEANINGS) == measured


def test_random_requests_are_answered_or_refused_with_a_reason():
    figure, raw = promises.measure_mutants(promises.Scale(mutants=300))["mutants_answered_badly"]
    assert figure.value == 0
    assert raw["requests"] == 300
    assert raw["codes"]["OK"] > 0
    assert raw["codes"]["INVALID_ARGUMENT"] > 0


def test_the_share_of_kept_promises_counts_ok_answers():
    assert promises.share_answered(["OK", "DEADLINE_EXCEEDED", "OK", "OK"]) == 0.75


def test_mutants_differ_and_many_can_be_read():
    draw = random.Random(1)
    kind = pb.SuggestRequest.DESCRIPTOR
    mutants = [promises.mutant(kind, draw) for _ in range(50)]
    assert len(set(mutants)) > 40
    assert sum(is_readable(mutant) for mutant in mutants) > 10


def is_readable(raw: bytes) -> bool:
    try:
        return bool(pb.SuggestRequest.FromString(raw).HasField("view"))
    except Exception:
        return False


@pytest.mark.parametrize("name", [name for name, traffic in promises.ATTACKS.items() if traffic is not None])
def test_the_traffic_of_an_attack_is_valid_only_where_it_should_be(name):
    """Valid traffic is answered and other traffic refused; each message fits into the server's bound."""
    traffic = promises.ATTACKS[name]
    assert traffic is not None
    message = traffic.message()
    assert len(message) < 2**17
    if traffic.method != "Suggest" or "searches" in name:
        return
    with serving("--no-self-test") as server, server.channel() as channel:
        call: Any = channel.unary_unary(SUGGEST)
        if name == "long histories":
            assert pb.SuggestResponse.FromString(call(message, timeout=60)).suggestion.iterations > 0
        else:
            with pytest.raises(grpc.RpcError) as refused:
                call(message, timeout=60)
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_the_ancestors_of_a_process_are_listed():
    parents = {4: 3, 3: 2, 2: 1, 1: 0, 9: 1}
    assert list(promises.ancestors(4, parents)) == [3, 2, 1]
