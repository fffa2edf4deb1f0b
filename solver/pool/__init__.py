"""Where questions are computed: threads, processes or Ray's workers, behind one interface."""
