"""The gRPC service around the solver.

`calls.py` is the way into every service and `errors.py` the way out of whatever goes wrong; `codec/` translates
between protobuf messages and ours. RulesService and RefereeService answer from the request alone. To come: the
adviser, caps and deadlines (`limits.py`), and what people start: the command line (`cli/`) and the board in the
browser (`web/`).
Only this package knows protobuf and gRPC.
"""
