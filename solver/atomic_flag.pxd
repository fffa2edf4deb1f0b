"""Share a flag between threads: one raises it, another reads it."""

cdef extern from *:
    """
    static inline void eminence_raise_flag(int* flag) { __atomic_store_n(flag, 1, __ATOMIC_RELAXED); }
    static inline void eminence_lower_flag(int* flag) { __atomic_store_n(flag, 0, __ATOMIC_RELAXED); }
    static inline int eminence_is_raised(const int* flag) { return __atomic_load_n(flag, __ATOMIC_RELAXED); }
    """
    void raise_flag "eminence_raise_flag" (int* flag) noexcept nogil
    void lower_flag "eminence_lower_flag" (int* flag) noexcept nogil
    bint is_raised "eminence_is_raised" (const int* flag) noexcept nogil
