"""Ask an engine that this program starts, over JSON lines: python json_lines.py [command of the engine]."""

import json
import subprocess
import sys

command = sys.argv[1:] or ["eminence", "serve", "--stdio", "--log", "error"]
game = {"gameId": "oriflamme", "players": 3, "ruleset": {"edition": "en-2019"}}
texts = [
    "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B",
    "C:Lord* >A:Ambush(1) B:Soldier* C:?(2) | round 4 | points 7 7 7 | seen by A",
]
with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as engine:
    assert engine.stdin
    assert engine.stdout
    for number, text in enumerate(texts):
        request = {"view": {"game": game, "text": text}, "budget": {"iterations": 2000}}
        print(json.dumps({"id": str(number), "method": "Suggest", "request": request}), file=engine.stdin)
    engine.stdin.close()  # the engine answers what is pending, and ends
    for line in engine.stdout:  # in the order in which the answers are found
        answer = json.loads(line)
        best = answer["answer"]["suggestion"]["best"]["text"] if "answer" in answer else answer["error"]["message"]
        print(texts[int(answer["id"])], "->", best)
