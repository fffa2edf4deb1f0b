"""The tree: nodes found by key in one open-addressing table, edges in one pool, everything by index.

A node is what a player has seen; it has no children. Its edges are the actions tried there, in ascending order, as not
every action is legal in every world that leads there.
"""
from libc.stdint cimport uint32_t, uint64_t

from engine_cy.game_api cimport action_t

cdef enum:
    NO_EDGE = 0xFFFFFFFF


cdef struct Edge:
    double value            # sum of what the player to act was paid
    uint32_t visits
    uint32_t available      # how often it was legal when the node was visited
    action_t action
    uint32_t next           # the node's next edge, or NO_EDGE


cdef struct Node:
    uint64_t key            # 0: a free place
    uint32_t first_edge
    uint32_t visits


cdef struct Tree:
    Node* nodes
    uint64_t n_places       # a power of two
    uint64_t n_nodes
    Edge* edges
    float* priors           # by edge; NULL unless they are used
    uint64_t n_edges
    uint64_t room_edges
    uint64_t bytes_max
    bint full               # it has reached bytes_max and takes nothing new


cdef int open_tree(Tree* tree, uint64_t bytes_max, bint with_priors) noexcept nogil
cdef void close_tree(Tree* tree) noexcept nogil
# The node of `key`, or NULL.
cdef Node* find_node(const Tree* tree, uint64_t key) noexcept nogil
# A new node for `key`, or NULL when the tree is full. Node pointers do not outlive the next call.
cdef Node* add_node(Tree* tree, uint64_t key) noexcept nogil
# A new edge, or NO_EDGE when the tree is full.
cdef uint32_t add_edge(Tree* tree, action_t action) noexcept nogil
cdef uint64_t tree_bytes(const Tree* tree) noexcept nogil
