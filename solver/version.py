"""Which engine, search and knowledge this is: equal signatures answer equal questions alike."""

# What `python -m benchmarks signature` prints: a digest of fixed games and searches. A commit that moves it changes it
# here and says so in its message; `.ci/signature` compares all three.
SIGNATURE = "405c6601034b9342"
