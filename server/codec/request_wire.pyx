# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The view out of the bytes of a request: most requests are little else, and most are well written."""
from libc.string cimport memset

from engine_cy.castle_village_port.api cimport CastleVillagePort
from engine_cy.oriflamme.api cimport Oriflamme
from server.codec cimport castle_wire, oriflamme_wire
from server.codec.numbers cimport Numbers
from server.codec.wire cimport Field, Part, next_field, part_of, read_part

cdef enum:
    VIEW = 1                  # of a request

    GAME = 1                  # View
    ORIFLAMME = 2
    CASTLE_VILLAGE_PORT = 3
    TABLES = 1 << ORIFLAMME | 1 << CASTLE_VILLAGE_PORT


def read_request(bytes raw, dict games, dict numbers):
    """The view that a request begins with, and the bytes of all else; None if it is not to be read here. `games` has
    those that are known, by the bytes of their messages, and `numbers` those of a game's id."""
    cdef Part request = part_of(raw)
    cdef Part view, spec
    cdef Field table

    memset(&table, 0, sizeof(table))
    if not read_part(&request, VIEW, &view) or not read_part(&view, GAME, &spec):
        return None
    if next_field(&view, &table, TABLES, 0) <= 0 or view.at != view.end:
        return None
    game = games.get((<char*>spec.at)[:spec.end - spec.at])
    if table.number == ORIFLAMME and isinstance(game, Oriflamme):
        found = oriflamme_wire.view_in(game, table.part, <Numbers?>numbers[game.id])
    elif table.number == CASTLE_VILLAGE_PORT and isinstance(game, CastleVillagePort):
        found = castle_wire.view_in(game, table.part, <Numbers?>numbers[game.id])
    else:
        return None
    return None if found is None else (found, (<char*>request.at)[:request.end - request.at])
