"""The report of a review: one HTML page. The command line and SolverService write it."""

# The area of the catalogues.
WORDS = "server.report"
