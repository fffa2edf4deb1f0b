# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Nodes and edges by index; the pools double until the tree has all the memory that it may take."""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

from engine_cy.game_api cimport action_t
from solver.tree cimport Edge, Node, Tree

cdef enum:
    FIRST_PLACES = 1024
    FIRST_EDGES = 1024


cdef int open_tree(Tree* tree, uint64_t bytes_max, bint with_priors) noexcept nogil:
    """An empty tree; -1 if there is no memory for it."""
    memset(tree, 0, sizeof(Tree))
    tree.bytes_max = bytes_max
    tree.n_places = FIRST_PLACES
    tree.room_edges = FIRST_EDGES
    tree.nodes = <Node*>calloc(tree.n_places, sizeof(Node))
    tree.edges = <Edge*>calloc(tree.room_edges, sizeof(Edge))
    if with_priors:
        tree.priors = <float*>calloc(tree.room_edges, sizeof(float))
    if tree.nodes == NULL or tree.edges == NULL or (with_priors and tree.priors == NULL):
        close_tree(tree)
        return -1
    return 0


cdef void close_tree(Tree* tree) noexcept nogil:
    free(tree.nodes)
    free(tree.edges)
    free(tree.priors)
    memset(tree, 0, sizeof(Tree))


cdef uint64_t tree_bytes(const Tree* tree) noexcept nogil:
    return (tree.n_places * sizeof(Node)
            + tree.room_edges * (sizeof(Edge) + (sizeof(float) if tree.priors != NULL else 0)))


cdef inline uint64_t place_of(const Tree* tree, uint64_t key) noexcept nogil:
    """Where `key` is, or the free place where it would be."""
    cdef uint64_t at = key & (tree.n_places - 1)

    while tree.nodes[at].key and tree.nodes[at].key != key:
        at = (at + 1) & (tree.n_places - 1)
    return at


cdef Node* find_node(const Tree* tree, uint64_t key) noexcept nogil:
    cdef Node* node = &tree.nodes[place_of(tree, key)]

    return node if node.key else NULL


cdef bint may_grow(Tree* tree, uint64_t more) noexcept nogil:
    if tree_bytes(tree) + more > tree.bytes_max:
        tree.full = True
    return not tree.full


cdef Node* add_node(Tree* tree, uint64_t key) noexcept nogil:
    cdef Node* node

    # Beyond two thirds, probing gets long.
    if 3 * tree.n_nodes >= 2 * tree.n_places and not double_places(tree):
        return NULL
    node = &tree.nodes[place_of(tree, key)]
    node.key = key
    node.first_edge = NO_EDGE
    tree.n_nodes += 1
    return node


cdef bint double_places(Tree* tree) noexcept nogil:
    """Move all nodes to a table of twice the places; return whether that was possible."""
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


cdef uint32_t add_edge(Tree* tree, action_t action) noexcept nogil:
    cdef Edge* edge

    if tree.n_edges == tree.room_edges and not double_edges(tree):
        return NO_EDGE
    edge = &tree.edges[tree.n_edges]
    edge.value = 0
    edge.visits = 0
    edge.available = 0
    edge.action = action
    edge.next = NO_EDGE
    tree.n_edges += 1
    return <uint32_t>(tree.n_edges - 1)


cdef bint double_edges(Tree* tree) noexcept nogil:
    cdef uint64_t room = 2 * tree.room_edges
    cdef void* edges
    cdef void* priors

    if not may_grow(tree, tree.room_edges * (sizeof(Edge) + sizeof(float))) or room >= NO_EDGE:
        return False
    edges = realloc(tree.edges, room * sizeof(Edge))
    if edges == NULL:
        tree.full = True
        return False
    tree.edges = <Edge*>edges
    if tree.priors != NULL:
        priors = realloc(tree.priors, room * sizeof(float))
        if priors == NULL:
            tree.full = True
            return False
        tree.priors = <float*>priors
    tree.room_edges = room
    return True
