def weigh_secrets(
    held: list[int],
    n_hand: int,
    in_spot: list[list[float]],
    in_hand: list[float],
    family: list[int] | None = None,
    n_families: int = 0,
    family_size: int = 0,
) -> tuple[list[list[float]], list[float], float]:
    """Return the marginals in each spot, the expected hand, and the total weight of all secrets, for training.

    The scores are log-weights; the likeliest kind in each place has weight 1. `family` lists the cards of each kind in
    a family of the player; without families, all secrets are equally likely before the evidence.
    """
