from solver.beliefs import Belief

def beliefs_as_bytes(belief: Belief, cards: bytes) -> bytes:
    """What is believed, as bytes of a Suggestion; `cards` has the contract's number of each kind."""
