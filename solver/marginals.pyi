def weigh_secrets(
    held: list[int], n_hand: int, in_spot: list[list[float]], in_hand: list[float], two_families: bool = False
) -> tuple[list[list[float]], list[float], float]:
    """Return the marginals in each spot, the expected hand, and the total weight of all secrets, for training.

    The scores are log-weights; the likeliest kind in each place has weight 1.
    """
