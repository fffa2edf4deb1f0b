class Numbers:
    """The engine's numbers of cards and of questions by those of the contract."""

    def __init__(self, kinds: dict[int, int], asks: dict[int, int]) -> None: ...
