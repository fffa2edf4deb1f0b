"""A client in Python, with and without asyncio: a deadline on every call, retries that cannot become a storm, streams
that are cancelled when they are left.

```
from server.client import Client, text_view

with Client("127.0.0.1:50051") as client:
    print(client.suggest(text_view("oriflamme", "en-2019", 3, "...seen by B")).best.text)
```

It knows nothing but gRPC and the contract. Who wants only this installs `eminence-client` (`make client` builds it),
where it is called `eminence_client`.
"""

from .aio import AsyncClient, AsyncStream
from .blocking import Client, Stream
from .refusals import Refusal, refusal_of
from .requests import seconds_for, text_view

__all__ = ["AsyncClient", "AsyncStream", "Client", "Refusal", "Stream", "refusal_of", "seconds_for", "text_view"]
