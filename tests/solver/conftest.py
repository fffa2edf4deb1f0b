"""Set the environment of tests that import Ray, which reads its authentication mode on its first import."""

from __future__ import annotations

import os

for name, value in {"RAY_AUTH_MODE": "token", "RAY_ENABLE_AUTO_CONNECT": "0", "RAY_USAGE_STATS_ENABLED": "0"}.items():
    os.environ.setdefault(name, value)
