"""The tree: nodes found by key in one open-addressing table, and each node's edges together in one block of a pool.

A node is what a player has seen; it has no children. Its edges are the actions tried there, in ascending order, as not
every action is legal in every world that leads there. Everything is found by index, as table and pool move when they
grow; a block moves when it gets too small for its node's edges.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from engine_cy.game_api cimport action_t

cdef extern from *:
    void prefetch "__builtin_prefetch" (const void* at) noexcept nogil

cdef enum:
    N_SIZES = 20            # of blocks
    FIRST_PLACES = 1024     # for nodes, in an empty tree
    FIRST_WORDS = 4096      # for edges


cdef struct Node:
    uint64_t key            # 0: a free place
    uint32_t block          # where its edges are, if it has any
    uint16_t n_edges
    uint16_t size           # of that block: its index in ROOMS


# The edges of a node, column by column, as an action is chosen by going through a few of the columns.
cdef struct Edges:
    double* values          # sums of what the player to act was paid
    action_t* actions       # ascending
    uint32_t* available     # how often it was legal when the node was visited
    float* means            # value / visits
    float* widths           # how much the policy cares for what it does not know of the edge, see selection.pxd
    uint32_t* visits
    float* priors           # NULL unless they are used


# What all edges of a node add up to. Only trees with priors keep it.
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
    uint32_t free_blocks[N_SIZES]       # the first block of each size that is not used any more; it tells the next
    uint64_t bytes_max
    bint with_priors
    bint full               # it has reached bytes_max and takes nothing new


cdef enum:
    NO_BLOCK = 0xFFFFFFFF
    TOTAL_WORDS = 2         # of a Total


cdef uint16_t ROOMS[N_SIZES]            # for so many edges a block of each size has room; filled by tree.pyx


cdef int open_tree(Tree* tree, uint64_t bytes_max, bint with_priors) noexcept nogil
cdef void close_tree(Tree* tree) noexcept nogil
# A new node for `key`, or NULL when the tree is full. Node pointers do not outlive the next call.
cdef Node* add_node(Tree* tree, uint64_t key) noexcept nogil
# Move a node's edges to where there is room for `n`, if they lie too close; return whether there is now.
cdef bint make_room(Tree* tree, Node* node, int n) noexcept nogil
# A new edge before the `at`-th, all zeros but for its action. There must be room.
cdef void insert_edge(Tree* tree, Node* node, int at, action_t action) noexcept nogil
cdef uint64_t tree_bytes(const Tree* tree) noexcept nogil


cdef inline uint64_t place_of(const Tree* tree, uint64_t key) noexcept nogil:
    """Where `key` is, or the free place where it would be."""
    cdef uint64_t at = key & (tree.n_places - 1)

    while tree.nodes[at].key and tree.nodes[at].key != key:
        at = (at + 1) & (tree.n_places - 1)
    return at


cdef inline void expect_node(const Tree* tree, uint64_t key) noexcept nogil:
    """The node of `key` will soon be looked for: have memory bring it while something else is done."""
    prefetch(&tree.nodes[key & (tree.n_places - 1)])


cdef inline Node* find_node(const Tree* tree, uint64_t key) noexcept nogil:
    """The node of `key`, or NULL."""
    cdef Node* node = &tree.nodes[place_of(tree, key)]

    return node if node.key else NULL


cdef inline Total* total_of(const Tree* tree, uint32_t block) noexcept nogil:
    return <Total*>(tree.pool + block)


cdef inline Edges edges_at(const Tree* tree, uint32_t block, int room) noexcept nogil:
    """The columns of a block with room for so many edges."""
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
