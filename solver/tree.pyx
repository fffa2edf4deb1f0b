# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Grow the tree: table and pool double until the tree has reached its memory limit."""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memmove, memset

from engine_cy.game_api cimport action_t
from solver.tree cimport (
    FIRST_PLACES, FIRST_WORDS, N_SIZES, NO_BLOCK, ROOMS, TOTAL_WORDS, Edges, Node, Tree, edges_at, edges_of, place_of,
    total_of,
)

cdef void fill_rooms() noexcept:
    """Fill ROOMS with 1, 2, 4, 6, 8, 12, 16, ...: small steps, as most nodes have one edge."""
    cdef int size

    for size in range(N_SIZES):
        ROOMS[size] = 1 << size if size < 3 else (2 + size % 2) << (size // 2)

fill_rooms()


cdef uint64_t block_words(const Tree* tree, int room) noexcept nogil:
    cdef uint64_t halves = (6 if tree.with_priors else 5) * room

    return (TOTAL_WORDS if tree.with_priors else 0) + room + (halves + 1) // 2


cdef int open_tree(Tree* tree, uint64_t bytes_max, bint with_priors) noexcept nogil:
    """Initialize an empty tree; return -1 if out of memory."""
    cdef int size

    memset(tree, 0, sizeof(Tree))
    tree.bytes_max = bytes_max
    tree.with_priors = with_priors
    for size in range(N_SIZES):
        tree.free_blocks[size] = NO_BLOCK
    tree.n_places = FIRST_PLACES
    tree.room_pool = FIRST_WORDS
    tree.nodes = <Node*>calloc(tree.n_places, sizeof(Node))
    tree.pool = <uint64_t*>malloc(tree.room_pool * sizeof(uint64_t))
    if tree.nodes == NULL or tree.pool == NULL:
        close_tree(tree)
        return -1
    return 0


cdef void close_tree(Tree* tree) noexcept nogil:
    free(tree.nodes)
    free(tree.pool)
    memset(tree, 0, sizeof(Tree))


cdef uint64_t tree_bytes(const Tree* tree) noexcept nogil:
    return tree.n_places * sizeof(Node) + tree.room_pool * sizeof(uint64_t)


cdef bint may_grow(Tree* tree, uint64_t more) noexcept nogil:
    if tree_bytes(tree) + more > tree.bytes_max:
        tree.full = True
    return not tree.full


# --- nodes ----------------------------------------------------------------------------------------------------

cdef Node* add_node(Tree* tree, uint64_t key) noexcept nogil:
    cdef Node* node

    # Keep the load factor at two thirds at most, as probing gets long beyond.
    if 3 * tree.n_nodes >= 2 * tree.n_places and not double_places(tree):
        return NULL
    node = &tree.nodes[place_of(tree, key)]
    node.key = key
    node.block = NO_BLOCK
    node.n_edges = 0
    node.size = 0
    tree.n_nodes += 1
    return node


cdef bint double_places(Tree* tree) noexcept nogil:
    """Move all nodes to a table of twice the size; return whether that succeeded."""
    cdef Node* old = tree.nodes
    cdef Node* larger
    cdef uint64_t n_old = tree.n_places
    cdef uint64_t i

    if not may_grow(tree, n_old * sizeof(Node)):
        return False
    larger = <Node*>calloc(2 * n_old, sizeof(Node))
    if larger == NULL:
        tree.full = True
        return False
    tree.nodes = larger
    tree.n_places = 2 * n_old
    for i in range(n_old):
        if old[i].key:
            tree.nodes[place_of(tree, old[i].key)] = old[i]
    free(old)
    return True


# --- edges ----------------------------------------------------------------------------------------------------

cdef bint make_room(Tree* tree, Node* node, int n) noexcept nogil:
    cdef int size = node.size
    cdef uint32_t block
    cdef Edges here, there

    if node.block != NO_BLOCK and n <= ROOMS[size]:
        return True
    while size < N_SIZES and ROOMS[size] < n:
        size += 1
    if size == N_SIZES:     # far beyond the actions of any of our games
        return False
    block = take_block(tree, size)
    if block == NO_BLOCK:
        return False
    if tree.with_priors:
        total_of(tree, block).value = 0
        total_of(tree, block).visits = 0
    if node.block != NO_BLOCK:
        here = edges_of(tree, node)
        there = edges_at(tree, block, ROOMS[size])
        if tree.with_priors:
            total_of(tree, block)[0] = total_of(tree, node.block)[0]
        shift(&there, 0, &here, 0, node.n_edges)
        tree.pool[node.block] = tree.free_blocks[node.size]
        tree.free_blocks[node.size] = node.block
    node.block = block
    node.size = size
    return True


cdef void insert_edge(Tree* tree, Node* node, int at, action_t action) noexcept nogil:
    cdef Edges edges = edges_of(tree, node)

    shift(&edges, at + 1, &edges, at, node.n_edges - at)
    edges.values[at] = 0
    edges.actions[at] = action
    edges.available[at] = 0
    edges.means[at] = 0
    edges.widths[at] = 0
    edges.visits[at] = 0
    if edges.priors != NULL:
        edges.priors[at] = 0
    node.n_edges += 1
    tree.n_edges += 1


cdef inline void shift(Edges* there, int to, const Edges* here, int at, int n) noexcept nogil:
    """Copy `n` edges from index `at` of `here` to index `to` of `there`; they may overlap."""
    if not n:
        return
    memmove(there.values + to, here.values + at, n * sizeof(double))
    memmove(there.actions + to, here.actions + at, n * sizeof(action_t))
    memmove(there.available + to, here.available + at, n * sizeof(uint32_t))
    memmove(there.means + to, here.means + at, n * sizeof(float))
    memmove(there.widths + to, here.widths + at, n * sizeof(float))
    memmove(there.visits + to, here.visits + at, n * sizeof(uint32_t))
    if here.priors != NULL:
        memmove(there.priors + to, here.priors + at, n * sizeof(float))


cdef uint32_t take_block(Tree* tree, int size) noexcept nogil:
    """Allocate a block of a size, uninitialized; return NO_BLOCK if the tree is full."""
    cdef uint32_t block = tree.free_blocks[size]
    cdef uint64_t words = block_words(tree, ROOMS[size])

    if block != NO_BLOCK:
        tree.free_blocks[size] = <uint32_t>tree.pool[block]
        return block
    while tree.used_pool + words > tree.room_pool:
        if not double_pool(tree):
            return NO_BLOCK
    block = <uint32_t>tree.used_pool
    tree.used_pool += words
    return block


cdef bint double_pool(Tree* tree) noexcept nogil:
    cdef uint64_t room = 2 * tree.room_pool
    cdef void* pool

    if room > NO_BLOCK or not may_grow(tree, tree.room_pool * sizeof(uint64_t)):
        return False
    pool = realloc(tree.pool, room * sizeof(uint64_t))
    if pool == NULL:
        tree.full = True
        return False
    tree.pool = <uint64_t*>pool
    tree.room_pool = room
    return True
