"""The Python clients, with and without asyncio.

Every call has a deadline. Retries are throttled, so that clients do not overload a failing server. Leaving a stream's
`with` block cancels the stream.

```
from server.client import Client, text_view

with Client("127.0.0.1:50051") as client:
    print(client.suggest(text_view("oriflamme", "en-2019", 3, "...seen by B")).best.text)
```

The package depends on gRPC and the contract alone. The distribution `eminence-client` (`make client` builds it)
contains nothing but the contract and this package, which it names `eminence_client`. The module `server.client.local`,
which it lacks, has a client that needs no server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .refusals import Refused
from .requests import seconds_for, text_view
from .streams import Stream

if TYPE_CHECKING:
    from .aio import AsyncClient, AsyncStream
    from .blocking import Client

__all__ = ["AsyncClient", "AsyncStream", "Client", "Refused", "Stream", "seconds_for", "text_view"]

# Imported on first use, because they import gRPC.
_MODULES = {"AsyncClient": ".aio", "AsyncStream": ".aio", "Client": ".blocking"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name], __name__), name)
    except ModuleNotFoundError:
        if __name__ == "server.client":  # the distribution eminence-client has gRPC, and no solver
            from solver.extras import importing

            with importing("server", f"{__name__}.{name}"):
                raise
        raise
