# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Information-set Monte-Carlo tree search, for any game behind the door.

Each iteration draws a world that fits what the root's observer sees, walks down through what the players of that world
would have seen, adds one action, plays to the end, and pays everybody on the way what he got (max^n). One search
knows nothing of any game; what it is told of opponents is the view, never the truth.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from engine_cy.copying cimport copy_state
from engine_cy.game cimport View
from engine_cy.game_api cimport (
    BEGUN, CHANCE, MAX_ACTIONS, MAX_PLAYERS, MORE, NOBODY, SPECTATOR, action_t,
)
from engine_cy.hashing cimport hash_bytes, mix
from engine_cy.rng cimport below, seed_rng
from posix.time cimport CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec
from solver.policy cimport ucb
from solver.tree cimport NO_EDGE, Edge, Node, add_edge, add_node, close_tree, find_node, open_tree, tree_bytes

cdef enum:
    POLL = 128          # the stop flag and the clock are looked at after so many iterations

POLL_EVERY = POLL


cdef int64_t now_ns(int clock) noexcept nogil:
    cdef timespec t

    clock_gettime(clock, &t)
    return <int64_t>t.tv_sec * 1000000000 + t.tv_nsec


cdef inline void sort_actions(action_t* actions, int n) noexcept nogil:
    """Into ascending order; most games list them so."""
    cdef int i, j
    cdef action_t action

    for i in range(1, n):
        action = actions[i]
        j = i
        while j > 0 and actions[j - 1] > action:
            actions[j] = actions[j - 1]
            j -= 1
        actions[j] = action


cdef class Searcher:
    """One tree, grown from one view by one thread at a time."""

    def __cinit__(self, View view, settings, uint64_t bytes_max, uint64_t seed, uint64_t stream):
        cdef int i, j
        cdef tuple code

        self.game = view.game
        self.observer = view.observer
        self.api = view.game.api
        self.knowledge = view.game.knowledge
        self.rules = view.game.rules
        memcpy(self.root, view.state, self.api.state_size)
        self.settings.nodes = {"public": NODES_PUBLIC, "own": NODES_OWN, "world": NODES_WORLD}[settings.nodes]
        self.settings.flat = settings.flat
        self.settings.exploration = settings.exploration
        self.settings.world_repeats = settings.world_repeats
        seed_rng(&self.rng, seed, stream)
        decisions = view.legal_actions()
        self.n_tallies = len(decisions)
        self.tallies = <Tally*>calloc(max(self.n_tallies, 1), sizeof(Tally))
        if self.tallies == NULL or open_tree(&self.tree, bytes_max, False):
            raise MemoryError
        for i, decision in enumerate(decisions):
            code = decision.code
            self.tallies[i].n_steps = len(code)
            for j in range(len(code)):
                self.tallies[i].steps[j] = code[j]

    def __dealloc__(self):
        close_tree(&self.tree)
        free(self.tallies)

    def stop(self):
        """Have the search end soon; from any thread."""
        self.stop_flag = 1

    def run(self, uint64_t iterations, int64_t nanoseconds=0, bint thread_time=False):
        """Search on for so many iterations, or until the time is up (0: no limit) or `stop` is called; return which
        of them it was. The clock is the monotonic one, or counts what this thread alone computes."""
        cdef int clock = CLOCK_THREAD_CPUTIME_ID if thread_time else CLOCK_MONOTONIC
        cdef int64_t deadline = 0
        cdef uint64_t i
        cdef str why = "iterations"

        with nogil:
            if nanoseconds:
                deadline = now_ns(clock) + nanoseconds
            for i in range(iterations):
                if i % POLL == 0:
                    if self.stop_flag:
                        break
                    if nanoseconds and i and now_ns(clock) >= deadline:
                        break
                self.iterate()
            else:
                i = iterations
        if self.stop_flag:
            why = "stopped"
        elif i < iterations:
            why = "time"
        return why

    # --- one iteration ---

    cdef void iterate(self) noexcept nogil:
        if self.iterations % self.settings.world_repeats == 0:
            self.api.sample(self.rules, self.root, self.observer, self.world, &self.rng)
            self.worlds += 1
        copy_state(self.state, self.world, self.api.state_size)
        memset(self.own, 0, sizeof(self.own))
        self.trail.n = 0
        self.trail.n_decision = 0
        self.trail.deciding = True
        self.descend()
        if self.api.to_act(self.rules, self.state) != NOBODY:
            self.api.play_out(self.rules, self.state, &self.rng)
        self.back_up()
        self.iterations += 1

    cdef void descend(self) noexcept nogil:
        """Walk down the tree, add one action, and no half decisions."""
        cdef action_t actions[MAX_ACTIONS]
        cdef bint known = True
        cdef int player, n

        while True:
            player = self.api.to_act(self.rules, self.state)
            if player == NOBODY:
                return
            # Off the tree, only a decision that was begun is brought to its end.
            if not known and not self.api.part(self.rules, self.state) & BEGUN:
                return
            n = self.api.legal(self.rules, self.state, actions)
            if player == CHANCE:
                self.api.apply(self.rules, self.state, actions[below(&self.rng, n)])
            elif n == 1:
                self.take(player, actions[0])
            elif known:
                sort_actions(actions, n)
                known = self.step(player, actions, n)
                if self.settings.flat and not self.api.part(self.rules, self.state) & BEGUN:
                    known = False
            else:
                self.take(player, actions[below(&self.rng, n)])

    cdef void take(self, int player, action_t action) noexcept nogil:
        """Apply a player's action; the root's own decision is noted."""
        if self.trail.deciding:
            self.trail.decision[self.trail.n_decision] = action
            self.trail.n_decision += 1
            self.trail.deciding = self.api.part(self.rules, self.state) & MORE
        self.own[player] = mix(self.own[player], action)
        self.api.apply(self.rules, self.state, action)

    cdef uint64_t node_key(self, int player) noexcept nogil:
        """What the node to be entered is found by; never 0."""
        cdef uint64_t key

        if self.settings.nodes == NODES_WORLD:
            key = hash_bytes(self.state, self.api.state_size, self.worlds)
        elif self.settings.nodes == NODES_OWN or player == self.observer:
            key = self.api.key(self.rules, self.state, player)
        else:
            key = mix(self.api.key(self.rules, self.state, SPECTATOR), self.own[player])
        return mix(key, player) | 1

    cdef bint step(self, int player, const action_t* actions, int n) noexcept nogil:
        """Choose an action at the node of `player` and apply it; return whether it was tried here before."""
        cdef uint64_t key = self.node_key(player)
        cdef Node* node = find_node(&self.tree, key)
        cdef uint32_t best = NO_EDGE
        cdef uint32_t before_new = NO_EDGE      # the edge that a new one would stand behind
        cdef uint32_t last = NO_EDGE
        cdef uint32_t at
        cdef Edge* edge
        cdef action_t untried = 0
        cdef double best_value = -1e300
        cdef double value
        cdef int n_untried = 0
        cdef int i

        if node == NULL:
            node = add_node(&self.tree, key)
            if node == NULL:
                self.take(player, actions[below(&self.rng, n)])
                return False
        node.visits += 1
        at = node.first_edge
        for i in range(n):
            while at != NO_EDGE and self.tree.edges[at].action < actions[i]:
                last = at
                at = self.tree.edges[at].next
            if at != NO_EDGE and self.tree.edges[at].action == actions[i]:
                edge = &self.tree.edges[at]
                edge.available += 1
                if not n_untried:
                    value = ucb(edge, self.settings.exploration)
                    if value > best_value:
                        best_value = value
                        best = at
                last = at
                at = edge.next
            else:
                # Any untried action comes first; each is as likely.
                n_untried += 1
                if n_untried == 1 or below(&self.rng, n_untried) == 0:
                    untried = actions[i]
                    before_new = last
        if n_untried:
            best = add_edge(&self.tree, untried)
            if best == NO_EDGE:
                self.take(player, actions[below(&self.rng, n)])
                return False
            if before_new == NO_EDGE:
                self.tree.edges[best].next = node.first_edge
                node.first_edge = best
            else:
                self.tree.edges[best].next = self.tree.edges[before_new].next
                self.tree.edges[before_new].next = best
            self.tree.edges[best].available = 1
        if self.trail.n < MAX_DEPTH:
            self.trail.edges[self.trail.n] = best
            self.trail.players[self.trail.n] = <char>player
            self.trail.n += 1
        self.take(player, self.tree.edges[best].action)
        return not n_untried

    cdef void back_up(self) noexcept nogil:
        """Pay every edge of the trail what its player got, and count the root's decision."""
        cdef double payoffs[MAX_PLAYERS]
        cdef int32_t scores[MAX_PLAYERS]
        cdef Tally* tally = self.tally_of_decision()
        cdef Edge* edge
        cdef int i, other, rank, best_other

        self.api.payoffs(self.rules, self.state, payoffs)
        for i in range(self.trail.n):
            edge = &self.tree.edges[self.trail.edges[i]]
            edge.visits += 1
            edge.value += payoffs[self.trail.players[i]]
        if tally == NULL:
            return
        self.api.scores(self.rules, self.state, scores)
        tally.visits += 1
        for i in range(self.game.n_players):
            rank = 0
            best_other = -2147483647
            for other in range(self.game.n_players):
                if other != i:
                    rank += payoffs[other] > payoffs[i] or (payoffs[other] == payoffs[i] and scores[other] > scores[i])
                    best_other = max(best_other, scores[other])
            tally.payoffs[i] += payoffs[i]
            tally.squares[i] += payoffs[i] * payoffs[i]
            tally.scores[i] += scores[i]
            tally.score_squares[i] += <int64_t>scores[i] * scores[i]
            tally.leads[i] += scores[i] - best_other
            tally.ranks[i][rank] += 1

    cdef Tally* tally_of_decision(self) noexcept nogil:
        """The tally of the decision that this iteration took at the root."""
        cdef int n = self.trail.n_decision
        cdef int i, j

        for i in range(self.n_tallies):
            if self.tallies[i].n_steps == n:
                j = 0
                while j < n and self.tallies[i].steps[j] == self.trail.decision[j]:
                    j += 1
                if j == n:
                    return &self.tallies[i]
        return NULL

    # --- what came of it ---

    def results(self):
        """For each whole decision at the root, in the order of `view.legal_actions()`: all sums, as plain numbers."""
        n = self.game.n_players
        found = []
        for i in range(self.n_tallies):
            tally = &self.tallies[i]
            found.append((
                tally.visits,
                tuple([tally.payoffs[p] for p in range(n)]),
                tuple([tally.squares[p] for p in range(n)]),
                tuple([tally.scores[p] for p in range(n)]),
                tuple([tally.score_squares[p] for p in range(n)]),
                tuple([tally.leads[p] for p in range(n)]),
                tuple([tuple([tally.ranks[p][r] for r in range(n)]) for p in range(n)]),
            ))
        return found

    @property
    def nodes(self):
        return self.tree.n_nodes

    @property
    def edges(self):
        return self.tree.n_edges

    @property
    def tree_bytes(self):
        """Bytes that the tree takes."""
        return tree_bytes(&self.tree)

    @property
    def used_bytes(self):
        """Bytes of the nodes and edges that are there, without the room for more."""
        return self.tree.n_nodes * sizeof(Node) + self.tree.n_edges * sizeof(Edge)

    @property
    def is_full(self):
        """Whether the tree has all the memory that it may take, and takes nothing new."""
        return bool(self.tree.full)
