"""Store a tree as an open-addressing table of nodes by key, and each node's edges in one block of a pool.

A node stands for a player's information set and holds no links to children. Its edges are the actions tried there, in
ascending order; not every action is legal in every world that leads there. Nodes and blocks are referenced by key and
index, as table and pool move when they grow; a block moves when it gets too small for its node's edges.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from engine_cy.game_api cimport action_t

cdef extern from *:
    void prefetch "__builtin_prefetch" (const void* at) noexcept nogil

cdef enum:
    N_SIZES = 20            # sizes of blocks
    FIRST_PLACES = 1024     # initial capacity for nodes
    FIRST_WORDS = 4096      # initial capacity of the pool, in words


cdef struct Node:
    uint64_t key            # 0: a free place
    uint32_t block          # offset of its edges in the pool, or NO_BLOCK
    uint16_t n_edges
    uint16_t size           # of that block: its index in ROOMS


# The edges of a node, as a struct of arrays, because selection reads only a few of the columns.
cdef struct Edges:
    double* values          # sum of payoffs of the player to act
    action_t* actions       # ascending
    uint32_t* available     # visits of the node at which the action was legal
    float* means            # value / visits
    float* widths           # width of the exploration term, see selection.pxd
    uint32_t* visits
    float* priors           # NULL in a tree without priors


# The sums over all edges of a node. Only trees with priors keep them.
cdef struct Total:
    double value
    uint64_t visits


cdef struct Tree:
    Node* nodes
    uint64_t n_places       # a power of two
    uint64_t n_nodes
    uint64_t n_edges
    uint64_t* pool          # of blocks
    uint64_t room_pool      # in words
    uint64_t used_pool
    uint32_t free_blocks[N_SIZES]       # heads of the free lists by size; a free block's first word is the next one
    uint64_t bytes_max
    bint with_priors
    bint full               # the tree has reached bytes_max and does not grow


cdef enum:
    NO_BLOCK = 0xFFFFFFFF
    TOTAL_WORDS = 2         # of a Total


cdef uint16_t ROOMS[N_SIZES]            # capacity of a block of each size, in edges; filled by tree.pyx


cdef int open_tree(Tree* tree, uint64_t bytes_max, bint with_priors) noexcept nogil
cdef void close_tree(Tree* tree) noexcept nogil
# Add a node for `key`; return NULL if the tree is full. The next call invalidates node pointers.
cdef Node* add_node(Tree* tree, uint64_t key) noexcept nogil
# Ensure room for `n` edges of a node, moving them to a larger block if necessary; return whether that succeeded.
cdef bint make_room(Tree* tree, Node* node, int n) noexcept nogil
# Insert an edge before index `at`, all zeros except its action. There must be room.
cdef void insert_edge(Tree* tree, Node* node, int at, action_t action) noexcept nogil
cdef uint64_t tree_bytes(const Tree* tree) noexcept nogil


cdef inline uint64_t place_of(const Tree* tree, uint64_t key) noexcept nogil:
    """Return the place of `key`, or the free place for it."""
    cdef uint64_t at = key & (tree.n_places - 1)

    while tree.nodes[at].key and tree.nodes[at].key != key:
        at = (at + 1) & (tree.n_places - 1)
    return at


cdef inline void prefetch_node(const Tree* tree, uint64_t key) noexcept nogil:
    """Prefetch the node of `key` for a later `find_node`."""
    prefetch(&tree.nodes[key & (tree.n_places - 1)])


cdef inline Node* find_node(const Tree* tree, uint64_t key) noexcept nogil:
    """Return the node of `key`, or NULL."""
    cdef Node* node = &tree.nodes[place_of(tree, key)]

    return node if node.key else NULL


cdef inline Total* total_of(const Tree* tree, uint32_t block) noexcept nogil:
    return <Total*>(tree.pool + block)


cdef inline Edges edges_at(const Tree* tree, uint32_t block, int room) noexcept nogil:
    """Return the columns of a block with room for `room` edges."""
    cdef Edges edges

    edges.values = <double*>(tree.pool + block) + (TOTAL_WORDS if tree.with_priors else 0)
    edges.actions = <action_t*>(edges.values + room)
    edges.available = <uint32_t*>(edges.actions + room)
    edges.means = <float*>(edges.available + room)
    edges.widths = edges.means + room
    edges.visits = <uint32_t*>(edges.widths + room)
    edges.priors = <float*>(edges.visits + room) if tree.with_priors else NULL
    return edges


cdef inline Edges edges_of(const Tree* tree, const Node* node) noexcept nogil:
    return edges_at(tree, node.block, ROOMS[node.size])
