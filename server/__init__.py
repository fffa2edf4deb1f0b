"""The gRPC service around the solver.

`rpc/` is the way in and out: `handlers.py` reads requests, `status.py` writes errors, and beside them are tokens,
callers, deadlines and admission. `services/` holds the services: each reads a request (`codec/`, `messages/`), has it
computed, and writes the answer. `app.py` is the process around them, `settings.py` holds its settings, `telemetry.py`,
`traces.py`, `spans.py` and `metrics_page.py` report on it, `answer_cache.py` and `answer_cache_file.py` keep answers.
`client/` is the other side: clients of a server, and `local.py`, which needs none. `cli/` is the program `eminence`.
docs/service.md says how to run a server. Only this package knows protobuf and gRPC.
"""
