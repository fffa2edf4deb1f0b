"""The one import name: games, positions and views; searches of them; clients of a server.

```
import eminence

view = eminence.new_game("oriflamme", "en-2019", players=3).deal(seed=7).view("A")
print(eminence.solve(view, eminence.Budget(iterations=2000)))
```

The names are those of `engine_cy`, `solver` and `server.client`, and are imported on first use: the contract in
`eminence.v1` needs none of them. The folder `proto/` holds this file because `eminence.v1` lives there.
"""

from functools import cache
from importlib import import_module
from typing import Any

# Also in __init__.pyi, for type checkers.
_MODULES = {
    "engine_cy": (
        "CHANCE Action EngineError Game GameRules IllegalActionError InvalidPositionError InvalidRulesetError"
        " InvalidViewError NotationError Position Rng View game_ids new_game python_game"
    ),
    "engine_cy.record": "Record read_record",
    "solver": (
        "Answer Beliefs Budget Comparison Config Information InvalidQuestionError SearchQuestion Session compare"
        " information read_level solve"
    ),
    "solver.pool.base": "answer_many",
    "solver.pool.processes": "Processes",
    "solver.pool.ray_pool": "RayPool",
    "solver.pool.threads": "Threads",
    "server.client": "AsyncClient Client Refused text_view",
    "server.client.local": "LocalClient",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'eminence' has no attribute {name!r}")
    module = import_module(_MODULE_OF[name])
    if _MODULE_OF[name].startswith("engine_cy"):
        _provide_words()
    return getattr(module, name)


@cache
def _provide_words() -> None:
    """Let pictures have the words of other languages. They need protobuf, so they are imported on first use."""

    def words_of(game: Any, language: str) -> Any:
        return import_module("server.games").picture_words(game, language)

    import_module("engine_cy.picture_words").provide_words(words_of)


def _version() -> str:
    """Return the version of the installed package, or of the source tree."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("eminence")
    except PackageNotFoundError:
        import tomllib
        from pathlib import Path

        metadata = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
        return f"{metadata['project']['version']}+source"


def __dir__() -> list[str]:
    return sorted(["__version__", *_MODULE_OF])
