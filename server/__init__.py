"""The gRPC service around the solver.

`rpc/` is what every call passes: `handlers.py` reads requests, `status.py` writes errors, and other modules check
tokens, callers, deadlines and admission. `services/` holds the services: each reads a request (`codec/`, `messages/`),
submits its question to a pool, and writes the answer. `app.py` is the server process, `settings.py` holds its settings,
`telemetry.py`, `traces.py`, `spans.py` and `metrics_page.py` report on it, `answer_cache.py` and `answer_cache_file.py`
cache answers. `client/` holds the clients of a server, and `local.py`, a client that computes in its own process.
`cli/` is the program `eminence`. docs/service.md explains how to run a server. Only this package knows protobuf and
gRPC.
"""
