"""The gRPC service around the solver.

`rpc/handlers.py` is the way into every service, `refusals.py` says no, `rpc/status.py` is the way out of whatever goes wrong;
`codec/` translates between protobuf messages and ours, `messages/` reads whole requests and writes whole answers.
RulesService and RefereeService answer from the request alone. The others, in `services/`, wait for threads
(`rpc/admission.py`), search on them and answer. `rpc/` holds tokens, callers and deadlines; `app.py` is the process around
it all, `settings.py` all that can be set, `telemetry.py`, `traces.py`, `spans.py` and `metrics_page.py` what the server
reports, `answer_cache.py` and `answer_cache_file.py` the answers it keeps. `client/` is for those on the other side. docs/service.md
says how to run it. `cli/` is what people start, the program `eminence`. Only this package knows protobuf and gRPC.
"""
