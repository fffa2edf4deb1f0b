"""Store the signatures of engine, search and knowledge: equal signatures give equal answers to equal questions."""

from __future__ import annotations

import json
from hashlib import blake2b

from engine_cy import Game

# The output of `python -m solver.signature`: digests of fixed games and searches, over all published editions and of
# each. A commit that moves them updates them here and states the new signature in its message; `.ci/signature` compares
# all three. A newly published edition adds a line and leaves the others as they are.
SIGNATURE = "5e02f03766c799b8"
DIGESTS = {
    "oriflamme": {
        "en-2019": "0341936c5f592dc8",
        "fr-2019": "016fe88edeef7eed",
        "de-2019": "3486c432148a3431",
        "revised": "8136e8d39a50cf2c",
    },
    "oriflamme_prototype": {"prototype": "f9a88dfe9eddb129"},
    "castle_village_port": {"house": "6f5a3897a8da5b97"},
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
