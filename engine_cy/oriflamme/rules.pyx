# cython: language_level=3
"""Conversion of a ruleset to the bytes that the rules code reads."""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from engine_cy.oriflamme.effects cimport question
from engine_cy.oriflamme.state cimport MASKED
from engine_cy.oriflamme.words cimport (
    AMBUSHER, ARCHER, ASK_NOTHING, ASSASSIN, CONSPIRACY, DECREE, HEIR, KILLER, LORD, QUEEN, SHAPESHIFTER, SOLDIER, SPY,
    STRANGE, UNSEEN,
)

from engine_cy.errors import InvalidRulesetError
from engine_cy.oriflamme.words import Deed, Reach

ROLES = {
    Deed.NO_DEED: AMBUSHER,
    Deed.FORFEIT_TOKENS: AMBUSHER,
    Deed.ELIMINATE: KILLER,
    Deed.ELIMINATE_IF_ALIKE: ASSASSIN,
    Deed.STEAL: SPY,
    Deed.GAIN_IF_SOLE_NAME: HEIR,
    Deed.GAIN_IF_SOLE_KIND: HEIR,
    Deed.GAIN_WITH_NEIGHBOURS: LORD,
    Deed.GAIN_UNLESS_CROWDED: QUEEN,
    Deed.COPY: SHAPESHIFTER,
    Deed.MOVE: DECREE,
    Deed.MULTIPLY_TOKENS: CONSPIRACY,
}
KILLERS = {Reach.EITHER_END: ARCHER, Reach.NEIGHBOUR: SOLDIER}


def role_of_card(card):
    """Return the role of a row of cards.py."""
    role = ROLES.get(card.deed, STRANGE)
    return KILLERS.get(card.reach, role) if role == KILLER else role


cdef void pack(Rules* rules, object cards, dict numbers) except *:
    """Fill `rules` from the rows of cards.py and the numbers of editions.py."""
    cdef object card
    cdef int kind

    numbers = dict(numbers)
    memset(rules, 0, sizeof(Rules))
    memset(rules.roles, UNSEEN, sizeof(rules.roles))
    for kind, card in enumerate(cards):
        if (card.reach == Reach.NOTHING) != (question(card.deed) == ASK_NOTHING):
            raise InvalidRulesetError(
                f"cards: the reach {card.reach.name} of {card.name} does not go with its deed {card.deed.name}")
        rules.abilities[kind].reach = card.reach
        rules.abilities[kind].deed = card.deed
        rules.abilities[kind].amount = card.amount
        rules.abilities[kind].nature = card.nature
        # A sixteenth kind has the bits of unknown cards, so it counts as one in what is learned.
        if kind != MASKED:
            rules.roles[kind] = role_of_card(card)
        rules.family[kind] = card.copies
    rules.n_players = numbers.pop("n_players")
    rules.families = numbers.pop("copies")
    number_cards(rules, len(cards))
    rules.aside = numbers.pop("aside")
    rules.hand_size = numbers.pop("hand_size")
    rules.start_points = numbers.pop("start_points")
    rules.n_rounds = numbers.pop("n_rounds")
    rules.cards_per_turn = numbers.pop("cards_per_turn")
    rules.cards_each = numbers.pop("cards_each")
    rules.tokens_on_keep = numbers.pop("tokens_on_keep")
    rules.tokens_before_ability = numbers.pop("tokens_before_ability")
    rules.lord_counts_covered = numbers.pop("lord_counts_covered")
    rules.pays_for_own = numbers.pop("pays_for_own")
    rules.ambush_gain = numbers.pop("ambush_gain")
    rules.ambush_own_gain = numbers.pop("ambush_own_gain")
    rules.cards_break_ties = numbers.pop("cards_break_ties")
    rules.ambush_discards_attacker = numbers.pop("ambush_discards_attacker")
    rules.ambush_discards_own_attacker = numbers.pop("ambush_discards_own_attacker")
    rules.eye = numbers.pop("eye")
    rules.must_hit_opponents = numbers.pop("must_hit_opponents")
    rules.decree_onto_stack = numbers.pop("decree_onto_stack")
    rules.uncovered_resolves_any = numbers.pop("uncovered_resolves_any")
    assert not numbers, f"unused numbers: {numbers}"


cdef void number_cards(Rules* rules, int n_kinds) noexcept:
    """Give each card of a player a bit of a hand: first a card of each kind, then a second one of each with two ..."""
    cdef int bit = 0
    cdef int copy = 0
    cdef int kind

    rules.n_kinds = <uint8_t>n_kinds
    for kind in range(n_kinds):
        rules.held_max[kind] = rules.family[kind] * rules.families
        rules.family_size += rules.family[kind]
    while bit < rules.family_size * rules.families:
        for kind in range(n_kinds):
            if rules.held_max[kind] > copy:
                rules.all_cards |= <uint32_t>1 << bit
                if copy:
                    rules.more[kind] |= <uint32_t>1 << bit
                bit += 1
        copy += 1
    rules.each_kind = (<uint32_t>1 << n_kinds) - 1
