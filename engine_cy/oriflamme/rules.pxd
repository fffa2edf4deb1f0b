"""A ruleset and a number of players as plain bytes, packed from cards.py and editions.py."""
from libc.stdint cimport uint8_t, uint32_t

from engine_cy.game_api cimport MAX_KINDS
from engine_cy.oriflamme.words cimport UNKNOWN_KIND


cdef struct Ability:
    uint8_t reach         # Reach
    uint8_t deed          # Deed
    uint8_t amount
    uint8_t nature        # Nature


cdef struct Rules:
    Ability abilities[MAX_KINDS]  # by kind
    uint8_t roles[UNKNOWN_KIND + 1]       # by kind; UNSEEN for unused numbers and those of unknown cards

    # The cards of a player.
    uint8_t n_kinds
    uint8_t families              # that a player has: 1 or 2
    uint8_t family_size           # cards of a family
    uint8_t family[MAX_KINDS]     # ... by kind
    uint8_t held_max[MAX_KINDS]   # cards of a player, by kind
    uint32_t more[MAX_KINDS]      # by kind: the bits in a hand of all its cards but the first
    uint32_t each_kind            # one card of each kind, as a hand
    uint32_t all_cards            # all cards of a player, as a hand

    # Set-up.
    uint8_t n_players
    uint8_t aside                 # cards each player sets aside
    uint8_t hand_size
    uint8_t start_points
    uint8_t n_rounds
    uint8_t cards_per_turn
    uint8_t cards_each            # cards each player plays in a game

    # Points and tokens.
    uint8_t tokens_on_keep                # laid on a card that its owner keeps face down
    uint8_t tokens_before_ability         # a revealed card pays its tokens before it acts, else afterwards
    uint8_t lord_counts_covered           # a Lord counts covered cards, too
    uint8_t pays_for_own                  # eliminating an own card pays, too
    uint8_t ambush_gain                   # points for its owner if an opponent's card eliminates it
    uint8_t ambush_own_gain               # points for its owner if an own card eliminates it
    uint8_t cards_break_ties              # of tied players, those with the most cards in the queue win

    # Effects.
    uint8_t ambush_discards_attacker
    uint8_t ambush_discards_own_attacker
    uint8_t eye                           # the prototype's icon: a card turns its target face up
    uint8_t must_hit_opponents            # an elimination hits an opponent's card if it can
    uint8_t decree_onto_stack             # a Decree may move a card onto a slot of its family
    uint8_t uncovered_resolves_any        # a card uncovered by a leaving card is next; else only below a one-shot


cdef void pack(Rules* rules, object cards, dict numbers) except *
