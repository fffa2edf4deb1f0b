"""One ruleset and a number of players, packed: what cards.py and editions.py say, as bytes."""
from libc.stdint cimport uint8_t, uint32_t

from engine_cy.oriflamme.words cimport N_KINDS


cdef struct Ability:
    uint8_t reach         # Reach
    uint8_t deed          # Deed
    uint8_t amount
    uint8_t nature        # Nature


cdef struct Rules:
    Ability abilities[N_KINDS]    # by kind
    uint8_t roles[16]             # by kind; of those that nobody knows or has, UNSEEN

    # The set-up.
    uint8_t n_players
    uint8_t copies                # of each kind in a family
    uint8_t aside                 # cards each player sets aside
    uint8_t hand_size
    uint8_t start_points
    uint8_t n_rounds
    uint8_t cards_per_turn
    uint8_t cards_each            # cards each player plays in a game
    uint32_t full_hand            # all cards of a family, as a hand

    # What is paid.
    uint8_t tokens_on_keep                # laid on a card that is left face down
    uint8_t tokens_before_ability
    uint8_t lord_counts_covered
    uint8_t pays_for_own                  # eliminating an own card pays too
    uint8_t ambush_gain                   # to its owner, when an opponent's card hits it
    uint8_t ambush_own_gain               # when an own card does
    uint8_t cards_break_ties              # most cards in the queue decide a tie

    # What happens.
    uint8_t ambush_discards_attacker
    uint8_t ambush_discards_own_attacker
    uint8_t eye                           # a card pointed at is turned up
    uint8_t must_hit_opponents            # whenever an elimination could hit one
    uint8_t decree_onto_stack
    uint8_t uncovered_resolves_any        # else only below a one-shot card


cdef void pack(Rules* rules, object cards, dict numbers) except *
