"""The serious faults of a page for people with disabilities, as axe-core finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "server" / "web" / "board" / "node_modules" / "axe-core" / "axe.min.js"
MISSING = "axe-core is not installed; `npm ci` in server/web/board installs it"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def serious_faults(page: Any) -> list[str]:
    """Return the faults that axe calls serious or critical: their rules, and the elements."""
    page.evaluate(SCRIPT.read_text("utf-8"))
    options = {"resultTypes": ["violations"], "runOnly": RULES}
    violations = page.evaluate("options => axe.run(options).then(results => results.violations)", options)
    return [
        f"{fault['id']}: {node['html'][:200]}"
        for fault in violations
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
