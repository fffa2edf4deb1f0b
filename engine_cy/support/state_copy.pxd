"""Cloning a state."""

cdef extern from *:
    """
    #include <string.h>

    /* Told a fixed size, gcc copies a few hundred bytes by `rep movs`, ten times slower than the C library does. So the
       size is kept from it: nothing is computed here, but it has to believe that `size` is only known at run time. */
    static inline void eminence_copy_state(void* to, const void* from, size_t size) {
        __asm__("" : "+r"(size));
        memcpy(to, from, size);
    }
    """
    void copy_state "eminence_copy_state" (void* to, const void* source, size_t size) noexcept nogil
