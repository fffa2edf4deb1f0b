"""Store the signatures of engine, search and knowledge: equal signatures give equal answers to equal questions."""

from __future__ import annotations

import json
from hashlib import blake2b

from engine_cy import Game

# The output of `python -m solver.signature`: digests of fixed games and searches, over all published editions and of
# each. A commit that moves them updates them here and states the new signature in its message; `.ci/signature` compares
# all three. A newly published edition adds a line and leaves the others as they are.
SIGNATURE = "1f654a509213b49f"
DIGESTS = {
    "oriflamme": {
        "en-2019": "7c613151ed2cd72c",
        "fr-2019": "d4d1d35cfd786df6",
        "de-2019": "9f57d1928233a854",
        "revised": "e7fa26c283a3a66f",
    },
    "oriflamme_prototype": {"prototype": "f647e7c6548100fc"},
    "castle_village_port": {"house": "fbfca2dcebd46aa8"},
    "kuhn_poker": {"standard": "93fcd8270ef400b6"},
    "leduc_poker": {"standard": "a220eaec47ca9368"},
}


def signature_of(game: Game) -> str:
    """Return the signature of a ruleset; it does not depend on other rulesets.

    A published edition has a stored signature. A ruleset with changed switches or tables gets a hash of its edition's
    signature and its spec. An unpublished edition gets a hash of the signature of its game's first edition and of all
    its rules.
    """
    game_id, ruleset, _ = game.spec
    changes = {} if isinstance(ruleset, str) else dict(ruleset or {})
    edition = str(changes.get("edition", "") if changes else ruleset)
    digests = DIGESTS.get(game_id, {})
    if edition in digests and not changes:
        return digests[edition]
    own = "" if edition in digests else repr(game.ruleset)
    base = digests.get(edition) or next(iter(digests.values()), SIGNATURE)
    spec = json.dumps([base, game_id, edition, changes, own], sort_keys=True)
    return blake2b(spec.encode(), digest_size=8).hexdigest()
