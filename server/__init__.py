"""The gRPC service around the solver.

Not there yet. To come: the servicer, the translation between protobuf messages and ours (`codec/`), caps
and deadlines (`limits.py`), and what people start: the command line (`cli/`) and the board in the browser
(`web/`).
Only this package knows protobuf and gRPC.
"""
