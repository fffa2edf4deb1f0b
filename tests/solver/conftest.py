"""The environment of tests that import Ray: it reads how to authenticate when it is imported first."""

from __future__ import annotations

import os

for name, value in {"RAY_AUTH_MODE": "token", "RAY_ENABLE_AUTO_CONNECT": "0", "RAY_USAGE_STATS_ENABLED": "0"}.items():
    os.environ.setdefault(name, value)
