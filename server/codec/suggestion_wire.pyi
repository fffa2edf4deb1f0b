from solver.beliefs import Belief

def forced_response(
    found: bytes, belief: Belief | None, cards: bytes, said: bytes, seed: int, elapsed_ns: int
) -> bytes:
    """The response to a request whose move is forced: what was `found` and is `said` of how it was asked for are bytes
    of a Suggestion; without suspicions there is no belief."""

def beliefs_as_bytes(belief: Belief, cards: bytes) -> bytes:
    """What is believed, as bytes of a Suggestion; `cards` has the contract's number of each kind."""
