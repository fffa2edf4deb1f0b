def weigh_secrets(
    held: list[int], n_hand: int, in_spot: list[list[float]], in_hand: list[float], two_families: bool = False
) -> tuple[list[list[float]], list[float], float]:
    """For the fitting: how likely each kind is in each spot, how many of it are in hand, and how much all secrets
    weigh, that of the likeliest card in each place being 1."""
