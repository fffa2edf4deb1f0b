"""A client in Python, with and without asyncio: a deadline on every call, retries that cannot become a storm, streams
that are cancelled when they are left.

```
from server.client import Client, text_view

with Client("127.0.0.1:50051") as client:
    print(client.suggest(text_view("oriflamme", "en-2019", 3, "...seen by B")).best.text)
```

It knows nothing but gRPC and the contract. Who wants only this installs `eminence-client` (`make client` builds it),
where it is called `eminence_client`. Beside it, `server.client.local` has a client that needs no server.
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

# Loaded on first use: they load gRPC.
_MODULES = {"AsyncClient": ".aio", "AsyncStream": ".aio", "Client": ".blocking"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
