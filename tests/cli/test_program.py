"""The program as a whole: imports, errors and exit codes, help, completion, terminals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from program import ROOT, VIEW, command, environment, run, write_files
from tables import mostly_slow
from waiting import HANG_S, wait_until

import eminence as package
from server.cli import command_reference
from server.cli.command import Command
from server.cli.main import COMMANDS, eminence

HEAVY = {"ray", "grpc", "matplotlib", "pyarrow", "pandas"}


@pytest.mark.parametrize(
    "args",
    [("--help",), ("suggest", VIEW, "--iterations", "50"), ("compare", VIEW, "reveal", "keep", "--iterations", "50")],
)
def test_commands_do_not_import_heavy_packages(args):
    program = (
        "import atexit, sys; from server.cli.main import main; "
        "atexit.register(lambda: print('LOADED', *{name.partition('.')[0] for name in sys.modules})); main()"
    )
    out = subprocess.run(
        [sys.executable, "-c", program, *args], env=environment(), capture_output=True, text=True, check=True
    ).stdout
    loaded = set(out.splitlines()[-1].split())
    assert "click" in loaded
    assert loaded & HEAVY == set()
    assert args == ("--help",) or "engine_cy" in loaded
    if args == ("--help",):
        assert loaded & {"engine_cy", "solver", "eminence", "google", "rich"} == set()


def test_every_command_has_a_line_in_help_and_examples():
    assert len(COMMANDS) >= 7
    for name in COMMANDS:
        entry = eminence.get_command(None, name)  # type: ignore[arg-type]
        assert entry is not None
        assert entry.name == name
        assert isinstance(entry, Command)
        assert entry.examples, name
    out = run("--help").out
    assert all(f"  {name} " in out for name in COMMANDS)


def examples(*names: str) -> list[str]:
    commands = [eminence.get_command(None, name) for name in names]  # type: ignore[arg-type]
    return [example for entry in commands if isinstance(entry, Command) for example in entry.examples]


def path_with_program(folder: Path) -> str:
    """Return a PATH on which `eminence` is this program."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "eminence").write_text(f'#!/bin/sh\nexec {sys.executable} -m eminence "$@"\n')
    (programs / "eminence").chmod(0o755)
    return os.pathsep.join([str(programs), os.environ["PATH"]])


@pytest.mark.slow
def test_the_example_of_an_engine_answers_lines(tmp_path):
    (example,) = [example for example in examples("serve") if "--stdio" in example]
    (tmp_path / "questions.jsonl").write_text('{"id": "a", "method": "ListGames"}\n')
    variables = environment(PATH=path_with_program(tmp_path), EMINENCE_ADDRESS="0.0.0.0:50051")
    command = ["bash", "-c", example]
    assert subprocess.run(command, cwd=tmp_path, env=variables, timeout=HANG_S, check=False).returncode == 0
    assert json.loads((tmp_path / "answers.jsonl").read_text())["id"] == "a"


SERVING = [example for example in examples("serve") if "--stdio" not in example]


@pytest.mark.parametrize(
    "example", mostly_slow(SERVING, SERVING, [line for line in SERVING if "--no-self-test" in line])
)
def test_every_example_of_a_server_serves(example, tmp_path):
    variables = environment(
        PATH=path_with_program(tmp_path), EMINENCE_ADDRESS="127.0.0.1:0", EMINENCE_WEB="127.0.0.1:0"
    )
    with subprocess.Popen(
        ["bash", "-c", f"exec env {example}"], cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("listening on 127.0.0.1:")
        process.terminate()
        assert process.wait(HANG_S) == 0


EXAMPLES = {name: examples(name) for name in COMMANDS if name != "serve"}
# One for each command is quick.
LINES = [line for lines in EXAMPLES.values() for line in lines]


@pytest.mark.parametrize("example", mostly_slow(LINES, LINES, [lines[0] for lines in EXAMPLES.values()]))
def test_every_example_in_help_runs(example, tmp_path):
    write_files(tmp_path)
    result = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", example],
        cwd=tmp_path,
        env=environment(PATH=path_with_program(tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout or "--out " in example or "--svg " in example
    if "--json" in example:
        json.loads(result.stdout)
    wide = [line for line in result.stdout.splitlines() if len(line) > 80 and "convert" not in example]
    assert "--json" in example or wide == []


def test_the_version_is_printed_without_installed_metadata(monkeypatch):
    def nowhere(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nowhere)
    assert package.__version__ == "0.1.0+source"
    monkeypatch.setattr(metadata, "version", lambda name: "9.9")
    assert run("--version") == (0, "eminence 9.9\n", "")


@pytest.mark.parametrize(
    ("args", "code", "error"),
    [
        (("nothing",), 2, "No such command 'nothing'"),
        (("suggest",), 2, "Missing argument"),
        (("suggest", VIEW, "--levl", "3"), 2, "--levl"),
        (("suggest", VIEW, "--level", "11"), 1, "level: '11' is not one of 1..10, beginner"),
        (("suggest", "nowhere.txt"), 1, "nowhere.txt: neither a file nor a position"),
        (("suggest", VIEW, "--players", "9"), 1, "players: 9 is not possible in en-2019 (3, 4, 5)"),
        (("suggest", VIEW, "--ruleset", "en-1999"), 1, "'en-1999' is not an edition of oriflamme"),
        (("suggest", VIEW, "--seat", "C"), 1, "seat: this is the view of B"),
        (("suggest", VIEW, "--seat", "Z"), 1, "seat: 'Z' is not at this table (A, B, C)"),
        (("suggest", VIEW, "--at", "3"), 1, "at: 3 needs a record"),
        (("suggest", VIEW, "--among", "fly"), 1, "options.restrict_to[0]"),
        (("suggest", VIEW, "--model", "B=greedy"), 1, "the observer's own"),
        (("suggest", VIEW, "--model", "A=good"), 1, "A=good"),
        (("suggest", VIEW, "--iterations", "0"), 1, "budget.iterations: 0 is not in 1.."),
        (("suggest", VIEW, "--confidence", "7"), 1, "budget.confidence: 7.0 is not in 0.5..0.999999"),
        (("suggest", VIEW, "--config", "plain", "--level", "3"), 1, "level"),
        (
            (
                "suggest",
                VIEW.replace("A:?", "A:Spy"),
            ),
            1,
            "A",
        ),
        (("suggest", "A:Spy | round 6 | ask over | seen by A"), 1, ""),
        (("suggest", "-"), 1, "-: 0 positions or records; exactly one is accepted"),
        (("suggest", '{"@type": "nothing"}'), 1, "@type: unknown type 'nothing'"),
        (("suggest", '{"game"'), 1, "JSON: "),
        (("sugest", VIEW), 2, "No such command 'sugest'. Did you mean suggest?"),
        (("suggest", VIEW, "--time-ms", "nan"), 1, "time-ms: nan is not in 0.001..86400000"),
        (("suggest", VIEW, "--time-ms", "-5"), 1, "time-ms: -5 is not in 0.001..86400000"),
        (("suggest", VIEW, "--memory-mb", "nan"), 1, "memory-mb: nan is not in "),
        (("suggest", VIEW, "--memory-mb", "inf"), 1, "memory-mb: inf is not in "),
        (
            ("suggest", VIEW, "--server", "localhost"),
            1,
            "server: 'localhost' is not an address such as 127.0.0.1:50051",
        ),
        (("suggest", VIEW, "--server", ""), 1, "server: '' is not an address such as 127.0.0.1:50051"),
        (("suggest", VIEW, "--server", "127.0.0.1:99999"), 1, "server: '127.0.0.1:99999' is not an address"),
        (("suggest", VIEW, "--server", "127.0.0.1:0"), 1, "127.0.0.1:50051 (ports: 1 to 65535)"),
        (("suggest", VIEW, "--tls"), 1, "--tls needs --server"),
        (("suggest", VIEW, "--tls-ca", "ca.pem"), 1, "--tls-ca needs --server"),
        (("review", "game.txt", "--plot", "no/such/x.svg"), 1, "plot: the folder no/such does not exist"),
        (("review", "game.txt", "--html", "no/such/x.html"), 1, "html: the folder no/such does not exist"),
        (("review", "game.txt", "--html", "."), 1, "html: . is a folder"),
        (("match", "plain", "plain", "--sprt", "5", "0"), 1, "sprt: 5 and 0: ELO0 must be below ELO1"),
        (("match", "plain", "plain", "--sprt", "0", "nan"), 1, "sprt: 0 and nan"),
        (("match", "plain", "plain", "--games", "no/such/x"), 1, "games: the folder no/such does not exist"),
        (("match", "plain", "plain", "--games", "view.txt"), 1, "games: view.txt is not a folder"),
        (("compare", VIEW, "reveal"), 1, "moves: 1 is not in 2..16"),
        (("compare", VIEW, "reveal", "reveal"), 1, "is named twice"),
        (("rules", "wizard"), 1, "card: unknown card 'wizard'; known cards: "),
        (("rules", "--ruleset", "de-2019"), 1, "--game is required"),
        (("analyze", "nowhere.txt", "--out", "x.jsonl"), 1, "nowhere.txt: file not found"),
        (("analyze", "view.txt", "--out", "x.csv"), 1, "out: 'x.csv' has another suffix than .sqlite"),
        (("analyze", "view.txt", "--out", "no/such/x.jsonl"), 1, "out: the folder no/such does not exist"),
        (("analyze", "view.txt", "nowhere.txt", "--out", "x.jsonl"), 1, "nowhere.txt: file not found"),
        (("analyze", "view.txt", ".", "--out", "x.jsonl"), 1, ".: is a folder, not a file"),
        (("convert", "nowhere.txt"), 1, "nowhere.txt: neither a file nor a position"),
        (("convert", "game.txt", "--at", "999"), 1, "at: 999 is not in 0.."),
        (("convert", "game.txt", "--seat", "Z"), 1, "Z"),
    ],
)
def test_an_error_names_field_value_and_accepted_values_and_leaves_no_file(args, code, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    before = set(tmp_path.iterdir())
    output = run(*args)
    assert (output.code, output.out) == (code, "")
    assert set(tmp_path.iterdir()) == before
    assert error in " ".join(output.err.split())
    if args[0] == "convert":  # each bad piece has its own line
        return
    as_json = json.loads(run(*args, "--json").err)
    assert set(as_json["error"]) == {"reason", "message"}
    assert error.split(": ")[0] in as_json["error"]["message"]


def test_a_bug_has_its_own_exit_code_and_no_traceback(monkeypatch):
    from server.cli.commands import rules

    def broken(*args: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(rules, "_overview", broken)
    monkeypatch.delenv("EMINENCE_DEBUG", raising=False)
    output = run("rules")
    assert output.code == 3
    assert output.err == "eminence: internal error: RuntimeError: a bug (EMINENCE_DEBUG=1 shows the traceback)\n"


def test_a_closed_pipe_ends_the_program_quietly():
    with subprocess.Popen(
        command("rules", "--game", "oriflamme"), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, b"")


def test_ctrl_c_ends_a_suggestion_with_the_best_so_far():
    with subprocess.Popen(
        [*command("suggest", VIEW, "--time-ms", "600000")], env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        wait_until(lambda: another_thread_computes(process.pid))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 0
    assert "it was interrupted" in out
    assert "Play: " in out


def another_thread_computes(pid: int) -> bool:
    """Return whether a thread of a process, other than the first, has computed for some ticks."""
    threads = [path for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(pid)]
    return any(int((path / "stat").read_text().rpartition(")")[2].split()[11]) > 5 for path in threads)


@pytest.mark.slow
def test_completion_knows_commands_options_and_editions():
    def complete(words: str, at: int) -> str:
        env = environment(_EMINENCE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(at))
        program = "from server.cli.main import main; main()"
        return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True).stdout

    assert "plain,suggest" in complete("eminence su", 1)
    assert "plain,--iterations" in complete("eminence suggest --it", 2)
    assert "plain,de-2019" in complete("eminence suggest --ruleset d", 3)
    assert "plain,royal_decree" in complete("eminence rules roy", 2)
    assert "plain,level-10" in complete("eminence match default level-1", 3)


@pytest.mark.parametrize(
    ("words", "at"),
    [("suggest po", 2), ("review ga", 2), ("convert po", 2), ("analyze a.txt po", 3)]
    + [(f"{flag} po", 3) for flag in ("suggest --history", "suggest --tls-ca", "analyze --out", "convert --out")]
    + [(f"{flag} po", 3) for flag in ("play --load", "play --save", "match --resume", "review --html")]
    + [(f"{flag} po", 3) for flag in ("serve --config", "serve --tokens", "serve --tls-cert")],
)
def test_completion_leaves_files_to_the_shell(words, at):
    env = {"_EMINENCE_COMPLETE": "bash_complete", "COMP_WORDS": f"eminence {words}", "COMP_CWORD": str(at)}
    assert run(**env).out.startswith("file,")


def test_only_terminals_get_colours(tmp_path):
    """Run the program in `script`, which provides a terminal."""
    write_files(tmp_path)
    shell_command = f"{' '.join(command('suggest', 'view.txt', '--iterations', '200'))}"
    for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        out = subprocess.run(
            ["script", "-qec", shell_command, "/dev/null"],
            cwd=tmp_path,
            env=environment(TERM="xterm-256color", **more),
            capture_output=True,
            text=True,
        ).stdout
        assert "Play: " in out
        assert ("\x1b[1;32m" in out) == coloured
    assert "\x1b" not in run("suggest", VIEW, "--iterations", "200").out


def test_letters_that_the_encoding_lacks_are_replaced():
    result = subprocess.run(
        command("suggest", VIEW, "--iterations", "50"),
        env=environment(PYTHONIOENCODING="ascii"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert " ? " in result.stdout
    assert "Play: " in result.stdout


def test_only_one_file_of_the_command_line_imports_grpc():
    texts = {path.name: path.read_text() for path in (ROOT / "server" / "cli").rglob("*.py")}
    assert {name for name, text in texts.items() if "import grpc" in text} <= {"connection.py"}
    assert Path(ROOT / "server" / "cli" / "main.py").is_file()


def test_the_reference_page_is_current():
    assert (ROOT / "docs" / "command_line.md").read_text() == command_reference.page(), (
        "python -m server.cli.command_reference > docs/command_line.md"
    )
    assert set(command_reference.JSON) <= set(COMMANDS)


def test_the_reference_documents_every_key_of_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    for name, args in {
        "bench": ("--seconds", "0.05", "--threads", "2"),
        "analyze": ("positions.txt", "--out", "r.jsonl", "--iterations", "20", "--workers", "1"),
        "rules": ("--game", "castle_village_port"),
    }.items():
        keys = run(name, *args, "--json").json
        documented = command_reference.JSON[name]
        for key in keys:
            assert f"`{key.replace('_spread', '')}`" in documented, (name, key)
    for args in (("archer",), ("--game", "oriflamme"), ("king",)):
        keys = run("rules", *args, "--json").json
        for key in [*keys, *keys["cards"][0]]:
            assert f"`{key}`" in command_reference.JSON["rules"], key
