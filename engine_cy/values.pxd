from engine_cy.game_api cimport GameApi, Knowledge, action_t
from engine_cy.learned.feature_api cimport FeatureApi

cdef enum:
    INTERNED = 4096       # entries of a game's hash table of actions; a power of two


cdef class Game:
    cdef const GameApi* api
    cdef const Knowledge* knowledge       # NULL: none
    cdef void* rules                      # owned
    cdef const FeatureApi* features       # the inputs of the learned knowledge; NULL: none
    cdef readonly tuple weights           # the Weights of the knowledge
    cdef readonly str id
    cdef readonly int n_players
    cdef readonly object ruleset
    cdef readonly tuple spec              # (id, ruleset, players): the arguments of new_game
    cdef readonly bint has_spectator      # whether the game has views and keys for SPECTATOR
    cdef list interned                    # hash table of actions of one step: Action or None
    cdef int n_interned

    cdef void* own(self, size_t size) except NULL
    cdef const char* fault(self, const void* state, int observer) noexcept
    cdef object error_for(self, const void* state, int observer)
    cdef bytes pack_parts(self, parts)
    cdef bint hides_choice(self, View view) except -1
    cpdef int check(self) except -1
    cdef Action action_of(self, const action_t* steps, int n)
    cdef Action intern(self, tuple steps)
    cdef int place_of(self, action_t step) except -1
    cdef fill_from_bytes(self, GameState table, bytes state, int observer, error)


cdef class Action:
    cdef readonly Game game
    cdef action_t steps[3]
    cdef int n_steps


cdef class GameState:
    cdef readonly Game game
    cdef unsigned char* state             # `small`, or allocated memory for larger states
    cdef unsigned char small[256]

    cdef list list_actions(self)
    cdef extend(self, list decisions, const unsigned char* state, action_t* steps, int n)
    cdef Action read(self, object action)
    cdef refuse(self, Action action)
    cdef bint same_bytes(self, GameState other)


cdef class Position(GameState):
    cpdef Position clone(self)


cdef class View(GameState):
    cdef readonly int observer


cdef Position new_position(Game game)
