from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.learned.feature_api cimport FeatureApi

cdef FeatureApi FEATURE_API

# Return whether the weights apply to tables with these rules.
cdef bint fits(const Rules* rules) noexcept nogil
