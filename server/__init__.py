"""The gRPC service around the solver.

`calls.py` is the way into every service, `refusals.py` says no, `errors.py` is the way out of whatever goes wrong;
`codec/` translates between protobuf messages and ours. RulesService and RefereeService answer from the request alone.
SolverService reads a question (`limits.py`), waits for threads (`admission.py`), searches on them (`searches.py`) and
answers; `app.py` is the process around it, `settings.py` all that can be set, `clients.py` who may call,
`telemetry.py`, `traces.py` and `spans.py` what is told of it, `cache.py` and `cache_file.py` what is kept. `client/` is
for those on the other side. docs/service.md says how to run it. `cli/` is what people start, the program `eminence`. To
come: the board in the browser (`web/`). Only this package knows protobuf and gRPC.
"""
