# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Search any game by information-set Monte-Carlo tree search.

Each iteration samples a world that fits the root observer's view, descends through the information sets of the players
in that world, adds one action, plays out, and backs up each player's own payoff (max^n). The search knows a game only
through its `GameApi`, and the opponents' cards only through the view and the belief, never from the true state.
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from engine_cy.support.state_copy cimport copy_state
from engine_cy.values cimport View
from engine_cy.game_api cimport (
    DECISION_BEGUN, CHANCE, MAX_ACTIONS, MAX_DECISION, MAX_PLAYERS, DECISION_UNFINISHED, GAME_OVER, SPECTATOR, action_t,
)
from engine_cy.support.hashing cimport hash_bytes, mix
from engine_cy.support.rng cimport LINE_STREAM, below, below64, seed_rng
from posix.time cimport CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec
from solver.beliefs cimport WorldSampler
from solver.debug_checks cimport IS_CHECKED, check_key, check_pretence, check_world
from solver.atomic_flag cimport is_raised, lower_flag, raise_flag
from solver.selection cimport PUCT_GROWTH, UCB_GROWTH, growth_index, puct_width, ucb_width
from solver.tree cimport (
    FIRST_PLACES, FIRST_WORDS, NO_BLOCK, ROOMS, Edges, Node, Total, add_node, close_tree, edges_at, edges_of,
    prefetch_node, find_node, insert_edge, make_room, open_tree, total_of, tree_bytes,
)

cdef enum:
    POLL = 128          # iterations between checks of the stop flag and the clock
    SIGNALS = 16384     # iterations between checks of signals such as an interrupt
    FULL_LEAST = 16     # with `full_half`, one playout in this many always runs to the end
    LINE_VISITS = 8     # visits that the next action of a line needs

cdef float NEVER = -3e38        # less than any payoff

CHECKED = IS_CHECKED != 0


SMALLEST_TREE_BYTES = FIRST_PLACES * sizeof(Node) + FIRST_WORDS * sizeof(uint64_t)


def bytes_beside_tree(int decisions):
    """Return the size of a searcher without its tree, in bytes: its own fields and its tallies."""
    return Searcher.__basicsize__ + decisions * sizeof(Tally)


cdef int64_t now_ns(int clock) noexcept nogil:
    cdef timespec t

    clock_gettime(clock, &t)
    return <int64_t>t.tv_sec * 1000000000 + t.tv_nsec


cdef inline void sort_actions(action_t* actions, int n) noexcept nogil:
    """Sort actions into ascending order. Most games list them sorted already."""
    cdef uint32_t disorder = 0
    cdef int i, j
    cdef action_t action

    for i in range(1, n):       # branch-free, so compilers vectorize it
        disorder |= actions[i - 1] > actions[i]
    if not disorder:
        return
    for i in range(1, n):
        action = actions[i]
        j = i
        while j > 0 and actions[j - 1] > action:
            actions[j] = actions[j - 1]
            j -= 1
        actions[j] = action


cdef inline bint begins_with(const Tally* tally, const action_t* steps, int n) noexcept nogil:
    """Return whether the tally's decision begins with these steps."""
    cdef int i

    for i in range(n):
        if tally.steps[i] != steps[i]:
            return False
    return True


@cython.final       # direct calls of its methods
cdef class Searcher:
    """Grow a tree from one view, on one thread at a time."""

    def __cinit__(self, View view, settings, uint64_t bytes_max, uint64_t seed, uint64_t stream, tuple only=(),
                  WorldSampler belief=None, tuple among=(), bint records=False):
        cdef int i

        self.game = view.game
        self.observer = view.observer
        self.api = view.game.api
        self.knowledge = view.game.knowledge
        self.rules = view.game.rules
        self.settings.nodes = {"public": NODES_PUBLIC, "own": NODES_OWN, "world": NODES_WORLD}[settings.nodes]
        self.settings.flat = settings.flat
        self.settings.exploration = settings.exploration
        # A game without knowledge ignores the settings that need it.
        if self.knowledge != NULL:
            self.settings.puct = settings.puct
            self.settings.known_playouts = settings.known_playouts
            self.settings.horizon = settings.horizon
            self.settings.priors_by_hand = (
                settings.puct and self.settings.nodes == NODES_PUBLIC and self.knowledge.prior_by_hand != NULL
            )
        for i, model in enumerate(settings.models):
            if i != self.observer and i < self.game.n_players:
                self.settings.models[i] = {
                    "me": PLAYS_AS_I, "noisy": PLAYS_NOISY, "greedy": PLAYS_GREEDY, "random": PLAYS_RANDOM,
                }[model]
                self.settings.modelled |= model != "me"
        self.settings.first_play = settings.first_play
        self.settings.full_half = settings.full_half
        self.settings.world_repeats = settings.world_repeats
        seed_rng(&self.rng, seed, 2 * stream)
        seed_rng(&self.world_rng, seed, 2 * stream + 1)
        self.records = records
        self.n_forced = len(only)
        for i in range(self.n_forced):
            self.forced[i] = only[i]
        self.bytes_max = bytes_max
        if open_tree(&self.tree, bytes_max, self.settings.puct):
            raise MemoryError
        self.look_at(view, belief, among)

    cdef look_at(self, View view, WorldSampler belief, tuple among):
        """Make `view` the root and reset the tallies; `among`, if not empty, restricts the root's decisions."""
        cdef int i
        cdef tuple code

        self.belief = belief
        self.believes = belief is not None
        if self.believes:
            belief.prepare()
        self.restricted = bool(among)
        self.n_tallies = 0
        for code in among:
            for i in range(len(code)):
                self.trail.decision[i] = code[i]
            if self.add_tally(len(code)):
                raise MemoryError
        if self.begin_at(view.state):
            raise MemoryError
        self.game.check()

    cdef int restart(self, const void* view, int observer, uint64_t seed) noexcept nogil:
        """Begin a new search at a view of `observer`, with stream 0 of a seed; return -1 if out of memory.

        A caller that changes the view of the belief prepares the belief, too.
        """
        close_tree(&self.tree)
        if open_tree(&self.tree, self.bytes_max, self.settings.puct):
            return -1
        seed_rng(&self.rng, seed, 0)
        seed_rng(&self.world_rng, seed, 1)
        memset(self.own_before, 0, sizeof(self.own_before))
        self.observer = observer
        self.restricted = False
        self.n_tallies = 0
        return self.begin_at(view)

    cdef int begin_at(self, const void* view) noexcept nogil:
        """Make `view` the root; list its decisions, if none are listed. Return -1 if out of memory."""
        memcpy(self.root, view, self.api.state_size)
        self.root_round = self.api.round(self.rules, self.root)
        self.iterations = 0
        self.counted = 0
        self.worlds = 0
        self.watches = self.api.to_act(self.rules, self.root) != self.observer
        # An observer who is not to act has a single tally, for all decisions of others.
        if self.n_tallies == 0 and (self.add_tally(0) if self.watches else self.list_decisions(self.root, 0)):
            return -1
        self.n_root = 0
        if not self.watches and self.settings.nodes != NODES_WORLD:
            memcpy(self.state, self.root, self.api.state_size)
            memcpy(self.own, self.own_before, sizeof(self.own))
            self.trail.n_decision = 0
            self.n_root = self.api.legal(self.rules, self.state, self.root_actions)
            if self.restricted:
                self.n_root = self.considered(self.root_actions, self.n_root)
            sort_actions(self.root_actions, self.n_root)
            self.root_key = self.node_key(self.observer)
        return 0

    cdef int list_decisions(self, const uint64_t* state, int n) noexcept nogil:
        """Add a tally for each decision that starts with the first `n` steps, which led to `state`, in their order."""
        cdef action_t actions[MAX_ACTIONS]
        cdef uint64_t after[STATE_WORDS]
        cdef bint more = self.api.part(self.rules, state) & DECISION_UNFINISHED
        cdef int n_actions = self.api.legal(self.rules, state, actions)
        cdef int i

        for i in range(n_actions if n < MAX_DECISION else 0):
            self.trail.decision[n] = actions[i]
            if not more:
                if self.add_tally(n + 1):
                    return -1
                continue
            memcpy(after, state, self.api.state_size)
            self.api.apply(self.rules, after, actions[i])
            if self.list_decisions(after, n + 1):
                return -1
        return 0

    cdef int add_tally(self, int n) noexcept nogil:
        """Add an empty tally for the decision of the first `n` steps of the trail; return -1 if out of memory."""
        cdef int room = self.tallies_room
        cdef Tally* tallies

        if self.n_tallies == room:
            room = max(8, 2 * room)
            tallies = <Tally*>realloc(self.tallies, room * sizeof(Tally))
            if tallies == NULL:
                return -1
            self.tallies = tallies
            self.tallies_room = room
        memset(&self.tallies[self.n_tallies], 0, sizeof(Tally))
        memcpy(self.tallies[self.n_tallies].steps, self.trail.decision, n * sizeof(action_t))
        self.tallies[self.n_tallies].n_steps = n
        self.n_tallies += 1
        return 0

    def follow(self, View view, list taken, WorldSampler belief=None):
        """Continue from `view`, a later one of the same game, with the present tree.

        `taken` are the decisions since, as the observer saw them: the player and the steps of each. Nodes with the same
        key keep their statistics.
        """
        for player, code in taken:
            for step in code:
                self.own_before[player] = mix(self.own_before[player], step)
        lower_flag(&self.stop_flag)     # raised to stop the previous search
        self.look_at(view, belief, ())

    def __dealloc__(self):
        with nogil:  # freeing a large tree takes milliseconds
            close_tree(&self.tree)
            free(self.tallies)
            free(self.payoffs)

    def stop(self):
        """End the search soon; any thread may call this."""
        raise_flag(&self.stop_flag)

    def run(self, uint64_t iterations, int64_t nanoseconds=0, bint thread_time=False):
        """Search in more worlds that fit the view, until a limit; return "iterations", "time" or "stopped".

        The limits are the number of such worlds, the time (0: no limit), and a call of `stop`. The clock is the
        monotonic one, or this thread's CPU time.
        """
        cdef int clock = CLOCK_THREAD_CPUTIME_ID if thread_time else CLOCK_MONOTONIC
        cdef int64_t start = now_ns(clock)
        cdef int64_t deadline = start + min(nanoseconds, INT64_MAX - start)
        cdef uint64_t counted = self.counted
        cdef uint64_t done = 0
        cdef uint64_t pause

        while done < iterations:
            pause = min(done + SIGNALS, iterations)
            if self.records:
                self.make_room_for_payoffs(pause - done)
            with nogil:
                while done < pause:
                    if done % POLL == 0:
                        if is_raised(&self.stop_flag):
                            break
                        if nanoseconds and done and now_ns(clock) >= deadline:
                            break
                    self.iterate()
                    while self.pretends:        # a world with a pretended card: the iteration does not count
                        self.iterate()
                    if self.records:
                        self.payoffs[self.n_payoffs] = self.last[self.observer]
                        self.n_payoffs += 1
                    done += 1
            self.counted = counted + done
            PyErr_CheckSignals()        # lets Ctrl-C interrupt the search
            self.game.check()
            if is_raised(&self.stop_flag):
                return "stopped"
            if done < pause:
                return "time"
        return "iterations"

    # --- one iteration ---

    cdef void iterate(self) noexcept nogil:
        cdef int i

        if self.settings.world_repeats == 1:
            self.draw_world(self.state)
        else:
            if self.iterations % self.settings.world_repeats == 0:
                self.draw_world(self.world)
            copy_state(self.state, self.world, self.api.state_size)
        memcpy(self.own, self.own_before, sizeof(self.own))
        self.trail.n = 0
        self.trail.n_decision = 0
        self.trail.deciding = not self.watches
        for i in range(self.n_forced):
            self.take(self.observer, self.forced[i])
        self.descend()
        self.back_up(self.play_on())
        self.iterations += 1

    cdef void draw_world(self, uint64_t* world) noexcept nogil:
        if self.believes:
            self.belief.draw(world, &self.world_rng)
            self.pretends = self.belief.pretends
        else:
            self.api.sample(self.rules, self.root, self.observer, world, &self.world_rng)
        if self.pretends:
            check_pretence(self.api, self.rules, self.root, world)
        else:
            check_world(self.api, self.rules, self.root, self.observer, world)
        self.worlds += 1

    cdef bint play_on(self) noexcept nogil:
        """Play out from the leaf to the end of the game or to the horizon; return whether it is the end.

        With `full_half`, some playouts always run to the end, as points and ranks are counted there. Their share grows
        with the iterations: an evaluation's errors do not average out.
        """
        cdef action_t actions[MAX_ACTIONS]
        cdef uint64_t half = self.settings.full_half
        cdef bint cut = self.settings.horizon > 0 and not (
            half and below64(&self.rng, self.iterations + half) < self.iterations + half // FULL_LEAST)
        cdef int player, n

        if not cut and not self.settings.known_playouts and not self.settings.modelled:
            self.api.play_out(self.rules, self.state, &self.rng)
            return True
        while True:
            player = self.api.to_act(self.rules, self.state)
            if player == GAME_OVER:
                return True
            if cut and self.api.round(self.rules, self.state) >= self.root_round + self.settings.horizon:
                return False
            if player != CHANCE and (
                    self.settings.models[player] == PLAYS_GREEDY
                    or (self.settings.known_playouts and self.settings.models[player] != PLAYS_RANDOM)):
                self.api.apply(self.rules, self.state, self.knowledge.choose(self.rules, self.state, &self.rng))
            else:
                n = self.api.legal(self.rules, self.state, actions)
                self.api.apply(self.rules, self.state, actions[below(&self.rng, n)])

    cdef void descend(self) noexcept nogil:
        """Descend through the tree, add one action, and complete the decision that it belongs to."""
        cdef action_t room[MAX_ACTIONS]
        cdef action_t* actions = room
        cdef action_t action
        # The observer's legal actions at the root are the same in all worlds that fit the view.
        cdef bint at_root = self.n_root > 0 and self.n_forced == 0 and not self.pretends
        cdef bint in_tree = True
        cdef uint64_t key
        cdef int player, n

        while True:
            player = self.api.to_act(self.rules, self.state)
            if player == GAME_OVER:
                return
            # Below the tree, only complete a decision whose first step has been taken.
            if not in_tree and not self.api.part(self.rules, self.state) & DECISION_BEGUN:
                return
            if at_root:
                actions = self.root_actions
                n = self.n_root
            else:
                actions = room
                n = self.api.legal(self.rules, self.state, actions)
                if self.restricted and self.trail.deciding:
                    n = self.considered(actions, n)
            if player == CHANCE:
                self.api.apply(self.rules, self.state, actions[below(&self.rng, n)])
            elif n == 1:
                self.take(player, actions[0])
            elif self.settings.modelled and self.modelled_action(player, actions, n, &action):
                self.take(player, action)
            elif in_tree:
                if at_root:
                    key = self.root_key
                else:
                    key = self.node_key(player)
                    prefetch_node(&self.tree, key)
                    sort_actions(actions, n)
                in_tree = self.step(player, key, actions, n)
                if self.settings.flat and not self.api.part(self.rules, self.state) & DECISION_BEGUN:
                    in_tree = False
            else:
                self.take(player, actions[below(&self.rng, n)])
            at_root = False

    cdef int considered(self, action_t* actions, int n) noexcept nogil:
        """Keep the next steps of the root's decision that continue a tally's decision; return their number."""
        cdef int kept = 0
        cdef int i, t

        for i in range(n):
            self.trail.decision[self.trail.n_decision] = actions[i]
            for t in range(self.n_tallies):
                if self.tallies[t].n_steps > self.trail.n_decision and begins_with(
                        &self.tallies[t], self.trail.decision, self.trail.n_decision + 1):
                    actions[kept] = actions[i]
                    kept += 1
                    break
        return kept

    cdef bint modelled_action(self, int player, const action_t* actions, int n, action_t* action) noexcept nogil:
        """Choose the action of a seat's model; return whether it has one here, else the search chooses."""
        cdef int model = self.settings.models[player]

        if model == PLAYS_RANDOM or (model == PLAYS_NOISY and below(&self.rng, 4) == 0):
            action[0] = actions[below(&self.rng, n)]
            return True
        elif model == PLAYS_GREEDY:
            action[0] = self.knowledge.choose(self.rules, self.state, &self.rng)
            return True
        return False

    cdef void take(self, int player, action_t action) noexcept nogil:
        """Apply a player's action, and record the steps of the root's decision."""
        if self.trail.deciding:
            self.trail.decision[self.trail.n_decision] = action
            self.trail.n_decision += 1
            self.trail.deciding = self.api.part(self.rules, self.state) & DECISION_UNFINISHED
        self.own[player] = mix(self.own[player], action)
        self.api.apply(self.rules, self.state, action)

    cdef uint64_t node_key(self, int player) noexcept nogil:
        """Return the key of the player's node in the present state; never 0."""
        cdef uint64_t owner = player
        cdef uint64_t key

        if self.settings.nodes == NODES_WORLD:
            key = hash_bytes(self.state, self.api.state_size, self.worlds)
        elif self.settings.nodes == NODES_OWN or player == self.observer:
            key = self.api.key(self.rules, self.state, player)
        else:
            key = self.api.key(self.rules, self.state, SPECTATOR)
            owner = mix(self.own[player], player)
        return mix(key, owner) | 1

    cdef bint step(self, int player, uint64_t key, const action_t* actions, int n) noexcept nogil:
        """Choose an action at the node of `player` and apply it; return whether the edge had visits already."""
        cdef Node* node = find_node(&self.tree, key)
        cdef Passed* passed
        cdef int chosen = -1
        cdef bint is_new = False

        check_key(self.api, self.rules, self.state, player)
        check_key(self.api, self.rules, self.state, SPECTATOR)
        if node == NULL:
            node = add_node(&self.tree, key)
        if node != NULL:
            chosen = self.choose(node, player, actions, n, &is_new)
        if chosen < 0:       # the tree is full
            self.take(player, actions[below(&self.rng, n)])
            return False
        if self.trail.n < MAX_DEPTH:
            passed = &self.trail.passed[self.trail.n]
            passed.block = node.block
            passed.room = ROOMS[node.size]
            passed.edge = <uint16_t>chosen
            passed.player = <uint8_t>player
            self.trail.n += 1
        self.take(player, edges_of(&self.tree, node).actions[chosen])
        return not is_new

    cdef int choose(self, Node* node, int player, const action_t* actions, int n, bint* is_new) noexcept nogil:
        """Return the edge to follow, or -1 if the tree is full. `actions` are ascending, like the node's edges.

        UCB1 picks a random untried action, and the best edge once all are tried. PUCT gives every legal action an
        edge with the game's prior and picks the best edge. In a node that several hands share, a game may ask for a
        prior for each hand: it is computed at every visit, for the hand in this world.
        """
        cdef uint16_t untried[MAX_ACTIONS]      # the legal actions that have no edge
        cdef float room[MAX_ACTIONS]
        cdef float* shares = NULL
        cdef int n_untried = 0
        cdef int best, pick

        if self.settings.priors_by_hand and player != self.observer:
            shares = room
            self.knowledge.prior_by_hand(self.rules, self.state, actions, n, shares)
        best = self.weigh(node, actions, n, 1, shares, untried, &n_untried)
        if n_untried:
            pick = -1 if self.settings.puct else untried[below(&self.rng, n_untried)]
            if not self.widen(node, n_untried if self.settings.puct else 1):
                return -1
            if pick >= 0:
                best = self.add_edge(node, actions[pick])
            else:
                self.add_priors(node, actions, n, shares, untried, n_untried)
                best = self.weigh(node, actions, n, 0, shares, untried, &n_untried)
        is_new[0] = edges_of(&self.tree, node).visits[best] == 0
        return best

    cdef int weigh(self, const Node* node, const action_t* actions, int n, uint32_t once, const float* shares,
                   uint16_t* untried, int* n_untried) noexcept nogil:
        """Merge the legal actions with the edges; return the best edge of a legal action, and the untried actions.

        The availability of every legal edge grows by `once`. `shares`, if not NULL, replace the priors of the edges.
        """
        cdef bint puct = self.settings.puct
        cdef const float* growth = &PUCT_GROWTH[0] if puct else &UCB_GROWTH[0]
        cdef Edges edges = edges_of(&self.tree, node)       # invalid while the node has no edge
        cdef const Total* total
        cdef float unvisited = 0
        cdef float best_value = NEVER
        cdef float value, width
        cdef uint32_t available
        cdef int n_edges = node.n_edges
        cdef int missing = 0
        cdef int best = -1
        cdef int at = 0
        cdef int i

        if puct and n_edges:
            total = total_of(&self.tree, node.block)
            unvisited = <float>((total.value / total.visits if total.visits else 0.0) - self.settings.first_play)
        for i in range(n):
            while at < n_edges and edges.actions[at] < actions[i]:
                at += 1
            if at == n_edges or edges.actions[at] != actions[i]:
                untried[missing] = <uint16_t>i
                missing += 1
                continue
            available = edges.available[at] + once
            edges.available[at] = available
            value = edges.means[at]
            width = edges.widths[at]
            if puct:
                width *= edges.priors[at] if shares == NULL else shares[i]
                if not edges.visits[at]:
                    value = unvisited
            value += width * growth[growth_index(available)]
            if value > best_value:
                best_value = value
                best = at
            at += 1
        n_untried[0] = missing
        return best

    cdef bint widen(self, Node* node, int n) noexcept nogil:
        """Make room for `n` more edges of `node`; return whether that succeeded."""
        cdef uint32_t old = node.block
        cdef int i

        if not make_room(&self.tree, node, node.n_edges + n):
            return False
        if node.block != old and old != NO_BLOCK:
            # A descent may pass the same node twice, if the player's information has not changed.
            for i in range(self.trail.n):
                if self.trail.passed[i].block == old:
                    self.trail.passed[i].block = node.block
                    self.trail.passed[i].room = ROOMS[node.size]
        return True

    cdef int add_edge(self, Node* node, action_t action) noexcept nogil:
        """Insert an edge for an action available now, in order; return its index. There must be room."""
        cdef const action_t* actions = edges_of(&self.tree, node).actions
        cdef int at = 0
        cdef int i

        for i in range(node.n_edges):
            at += actions[i] < action
        insert_edge(&self.tree, node, at, action)
        edges_of(&self.tree, node).available[at] = 1
        for i in range(self.trail.n):
            if self.trail.passed[i].block == node.block:
                self.trail.passed[i].edge += self.trail.passed[i].edge >= at
        return at

    cdef void add_priors(self, Node* node, const action_t* actions, int n, const float* shares,
                         const uint16_t* untried, int n_untried) noexcept nogil:
        """Add an edge for each untried action, with the game's prior unless `shares` replace those of the edges."""
        cdef float priors[MAX_ACTIONS]
        cdef Edges edges = edges_of(&self.tree, node)
        cdef int i, at

        if shares == NULL:
            self.knowledge.prior(self.rules, self.state, actions, n, priors)
        for i in range(n_untried):
            at = self.add_edge(node, actions[untried[i]])
            edges.priors[at] = priors[untried[i]] if shares == NULL else 0
            edges.widths[at] = puct_width(0, self.settings.exploration)

    cdef void back_up(self, bint ended) noexcept nogil:
        """Add each player's payoff to their edges on the trail, and update the tally of the root's decision."""
        cdef double* payoffs = self.last
        cdef int32_t scores[MAX_PLAYERS]
        cdef Tally* tally = self.tally_of_decision()
        cdef const Passed* passed
        cdef Edges edges
        cdef Total* total
        cdef int i, at, other, rank, best_other

        if ended:
            self.api.payoffs(self.rules, self.state, payoffs)
        else:
            self.knowledge.evaluate(self.rules, self.state, payoffs)
        for i in range(self.trail.n):
            passed = &self.trail.passed[i]
            edges = edges_at(&self.tree, passed.block, passed.room)
            at = passed.edge
            edges.visits[at] += 1
            edges.values[at] += payoffs[passed.player]
            edges.means[at] = <float>(edges.values[at] / edges.visits[at])
            if self.settings.puct:
                edges.widths[at] = puct_width(edges.visits[at], self.settings.exploration)
                total = total_of(&self.tree, passed.block)
                total.value += payoffs[passed.player]
                total.visits += 1
            else:
                edges.widths[at] = ucb_width(edges.visits[at], self.settings.exploration)
        if tally == NULL or self.pretends:
            return
        tally.visits += 1
        for i in range(self.game.n_players):
            tally.payoffs[i] += payoffs[i]
            tally.squares[i] += payoffs[i] * payoffs[i]
        if not ended:
            return
        self.api.scores(self.rules, self.state, scores)
        tally.ended += 1
        for i in range(self.game.n_players):
            rank = 0
            best_other = -2147483647
            for other in range(self.game.n_players):
                if other != i:
                    rank += payoffs[other] > payoffs[i] or (payoffs[other] == payoffs[i] and scores[other] > scores[i])
                    best_other = max(best_other, scores[other])
            tally.scores[i] += scores[i]
            tally.score_squares[i] += <int64_t>scores[i] * scores[i]
            tally.leads[i] += scores[i] - best_other
            tally.ranks[i][rank] += 1

    cdef Tally* tally_of_decision(self) noexcept nogil:
        """Return the tally of the decision that this iteration took at the root; NULL if it has none."""
        cdef int n = self.trail.n_decision
        cdef int i

        for i in range(self.n_tallies):
            if self.tallies[i].n_steps == n and begins_with(&self.tallies[i], self.trail.decision, n):
                return &self.tallies[i]
        return NULL

    cdef int make_room_for_payoffs(self, uint64_t more) except -1:
        cdef uint64_t room = self.payoffs_room
        cdef double* payoffs

        if self.n_payoffs + more <= room:
            return 0
        room = max(self.n_payoffs + more, room + room // 2)
        payoffs = <double*>realloc(self.payoffs, room * sizeof(double))
        if payoffs == NULL:
            raise MemoryError
        self.payoffs = payoffs
        self.payoffs_room = room
        return 0

    def recorded_payoffs(self, uint64_t begin=0):
        """Return the observer's payoffs in the worlds that fit the view, from number `begin` on, as bytes of doubles.

        They exist only with `records`.
        """
        if begin >= self.n_payoffs:
            return b""
        return (<char*>(self.payoffs + begin))[:(self.n_payoffs - begin) * sizeof(double)]

    cdef bint likely_action(self, int player, const action_t* actions, int n, action_t* action) noexcept nogil:
        """Find the most visited action here; return whether it has at least `LINE_VISITS` visits."""
        cdef const Node* node = find_node(&self.tree, self.node_key(player))
        cdef Edges edges
        cdef uint32_t most = LINE_VISITS - 1
        cdef int i, j

        if node == NULL or node.n_edges == 0:
            return False
        edges = edges_of(&self.tree, node)
        for i in range(node.n_edges):
            if edges.visits[i] > most:
                for j in range(n):
                    if actions[j] == edges.actions[i]:
                        most = edges.visits[i]
                        action[0] = actions[j]
                        break
        return most >= LINE_VISITS

    def line(self, tuple decision, int longest, uint64_t seed):
        """Return the likely continuation after a decision: a sampled world, as bytes, and the steps of each decision.

        Each decision is the most visited one, as long as one has enough visits; chance is sampled.
        """
        cdef action_t actions[MAX_ACTIONS]
        cdef action_t action = 0
        cdef rng_t rng
        cdef int player, n
        cdef bint more

        seed_rng(&rng, seed, LINE_STREAM)
        if self.believes:
            self.belief.draw(self.state, &rng)
            while self.belief.pretends:
                self.belief.draw(self.state, &rng)
        else:
            self.api.sample(self.rules, self.root, self.observer, self.state, &rng)
        world = (<char*>self.state)[:self.api.state_size]
        memcpy(self.own, self.own_before, sizeof(self.own))
        self.trail.deciding = False
        decisions = [decision]
        for action in decision:
            self.take(self.observer, action)
        steps = []
        while len(decisions) < longest:
            player = self.api.to_act(self.rules, self.state)
            if player == GAME_OVER:
                break
            n = self.api.legal(self.rules, self.state, actions)
            if player == CHANCE:
                action = actions[below(&rng, n)]
            elif n == 1:
                action = actions[0]
            elif not self.likely_action(player, actions, n, &action):
                break
            more = self.api.part(self.rules, self.state) & DECISION_UNFINISHED
            if player == CHANCE:
                self.api.apply(self.rules, self.state, action)
            else:
                self.take(player, action)
            steps.append(action)
            if not more:
                decisions.append(tuple(steps))
                steps = []
        return world, decisions

    def heuristic_decision(self):
        """Return the steps of the decision of the game's heuristic policy, without a search."""
        cdef action_t action
        steps = []

        self.api.sample(self.rules, self.root, self.observer, self.state, &self.rng)
        while True:
            action = self.knowledge.choose(self.rules, self.state, &self.rng)
            more = self.api.part(self.rules, self.state) & DECISION_UNFINISHED
            self.api.apply(self.rules, self.state, action)
            steps.append(action)
            if not more:
                return tuple(steps)

    # --- results ---

    def results(self):
        """Return the sums of each whole decision at the root, as rows of plain numbers: see `solver.merge.Tally`.

        They are in the order of `view.legal_actions()` or of `among`. If the observer is not to act, a single row sums
        over all decisions of others. Decisions without visits share a row, because a search of many moves has many.
        """
        cdef int i

        rows = []
        nothing = None
        for i in range(self.n_tallies):
            if self.tallies[i].visits:
                rows.append(self.row_of(&self.tallies[i]))
                continue
            if nothing is None:
                nothing = self.row_of(&self.tallies[i])
            rows.append(nothing)
        return rows

    cdef tuple row_of(self, const Tally* tally):
        cdef int n = self.game.n_players
        cdef int p, r

        row = [tally.visits, tally.ended]
        row += [tally.payoffs[p] for p in range(n)]
        row += [tally.squares[p] for p in range(n)]
        row += [tally.scores[p] for p in range(n)]
        row += [tally.score_squares[p] for p in range(n)]
        row += [tally.leads[p] for p in range(n)]
        row += [tally.ranks[p][r] for p in range(n) for r in range(n)]
        return tuple(row)

    @property
    def nodes(self):
        return self.tree.n_nodes

    @property
    def edges(self):
        return self.tree.n_edges

    @property
    def tree_bytes(self):
        """The allocated size of the tree in bytes."""
        return tree_bytes(&self.tree)

    @property
    def used_bytes(self):
        """The size of the nodes and edges in bytes, without the spare capacity."""
        return self.tree.n_nodes * sizeof(Node) + self.tree.used_pool * sizeof(uint64_t)
