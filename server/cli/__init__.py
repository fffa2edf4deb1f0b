"""The command line, `eminence`.

`main.py` lists the commands and imports only the module of the one that runs: a start must not wait for the engine,
gRPC, Ray or plots. Each module in `commands/` defines one `click` command of its own name.
"""
