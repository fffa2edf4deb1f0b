"""The trace span of the call that the current task answers, if calls are traced (`traces.py`)."""

from __future__ import annotations

import sys
from typing import Any


def current_span() -> Any:
    """Return the current span, or None if it is not recorded. Without tracing, OpenTelemetry is never imported."""
    trace = sys.modules.get("opentelemetry.trace")
    span = trace.get_current_span() if trace else None
    return span if span is not None and span.is_recording() else None


def add_to_span(**amounts: float) -> None:
    """Add amounts to attributes of the current span; a call may search several times."""
    if (span := current_span()) is not None:
        for name, amount in amounts.items():
            key = f"eminence.{name}"
            span.set_attribute(key, span.attributes.get(key, 0) + amount)
