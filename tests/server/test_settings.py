"""Settings: flags, environment variables and the file, and refused values."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import pytest
from program import command, environment, read_settings

from server.settings import PREFIX, Settings, SettingsError


def test_a_flag_overrides_the_environment_which_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('threads = 3\ncache_mb = 7\ntime_max_ms = 50\nlog = "error"\n', "utf-8")
    environment = {"EMINENCE_CACHE_MB": "8", "EMINENCE_TIME_MAX_MS": "60", "EMINENCE_CONFIG": str(file)}
    settings = read_settings(["--time-max-ms", "70"], environment)
    assert (settings.threads, settings.cache_mb, settings.time_max_ms, settings.log) == (3, 8, 70, "error")
    assert settings.bulk_queue == Settings().bulk_queue


def test_every_setting_has_a_flag_a_variable_and_a_key_of_the_file(tmp_path: Path) -> None:
    for setting in fields(Settings):
        name = setting.name
        if name in ("address", "web", "metrics", "traces"):
            value = "127.0.0.1:1"
        elif setting.type == "bool":
            value = "no" if setting.default else "yes"
        elif setting.type == "int":
            value = {"memory_total_mb": "2000", "tables_max": "300"}.get(name, "200")
        else:
            value = {"log": "debug", "backend": "ray", "ray_address": "10.0.0.1:6379"}.get(name, "x")
        required = {"tls_cert": "x", "tls_key": "x"} if name in ("tls_cert", "tls_key", "client_ca") else {}
        environment = {f"{PREFIX}_{key.upper()}": text for key, text in required.items()}
        by_variable = read_settings([], environment | {f"{PREFIX}_{name.upper()}": value})
        flag = "--" + name.replace("_", "-")
        flags = [flag, value] if setting.type != "bool" else ["--no-" + flag[2:] if value == "no" else flag]
        assert read_settings(flags, environment) == by_variable
        file = tmp_path / "server.toml"
        parsed = getattr(by_variable, name)
        file.write_text(f"{name} = {str(parsed).lower() if setting.type != 'str' else repr(parsed)}\n", "utf-8")
        assert read_settings(["--config", str(file)], environment) == by_variable
        assert parsed != setting.default


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--threads", "many"], "Invalid value for --threads: 'many' is not an integer in 0..1024"),
        (["--threads", "-1"], "Invalid value for --threads: '-1' is not an integer in 0..1024"),
        (["--log", "loud"], "Invalid value for --log: 'loud' is not one of 'debug', 'info', 'warning', 'error'"),
        (
            ["--address", "localhost"],
            "Invalid value for --address: 'localhost' is not host:port, such as 127.0.0.1:50051",
        ),
        (
            ["--address", "127.0.0.1:99999"],
            "Invalid value for --address: '127.0.0.1:99999': port 99999 is not in 0..65535",
        ),
        (["--address", "[::1]:65536"], "Invalid value for --address: '[::1]:65536': port 65536 is not in 0..65535"),
        (
            ["--metrics", "127.0.0.1:65536"],
            "Invalid value for --metrics: '127.0.0.1:65536': port 65536 is not in 0..65535",
        ),
        (
            ["--traces", "127.0.0.1:70000"],
            "Invalid value for --traces: '127.0.0.1:70000': port 70000 is not in 1..65535",
        ),
        (["--traces", "127.0.0.1:0"], "Invalid value for --traces: '127.0.0.1:0': port 0 is not in 1..65535"),
        (
            ["--metrics", "unix:/tmp/x"],
            "Invalid value for --metrics: 'unix:/tmp/x' is not host:port, such as 127.0.0.1:50051",
        ),
        (
            ["--address", "127.0.0.1:٣"],
            "Invalid value for --address: '127.0.0.1:٣' is not host:port, such as 127.0.0.1:50051",
        ),
        (["--address", "0.0.0.0:1"], "address: other machines can reach 0.0.0.0:1"),
        (["--address", "[::]:1"], "address: other machines can reach"),
        (
            ["--traces", "collector"],
            "Invalid value for --traces: 'collector' is not host:port, such as 127.0.0.1:50051",
        ),
        (["--cache-file", "x", "--cache-mb", "0"], "cache_file: needs a cache, but cache_mb is 0"),
        (["--memory-total-mb", "100"], "memory_total_mb: 100 is less than memory_max_mb (256)"),
        (["--tls-cert", "x"], "tls_cert, tls_key: each needs the other"),
        (["--client-ca", "x"], "client_ca: clients' certificates need TLS"),
        (["--backend", "spark"], "Invalid value for --backend: 'spark' is not one of 'threads', 'ray'"),
        (["--ray-address", "10.0.0.1"], "ray_address: '10.0.0.1' is not host:port of a Ray head"),
        (["--backend", "threads", "--ray-address", "a:1"], "ray_address: a:1 needs backend ray, not threads"),
        (["--ray-workers", "257"], "Invalid value for --ray-workers: '257' is not an integer in 0..256"),
        (["--config", "/nowhere"], "Invalid value for --config: /nowhere cannot be read"),
    ],
)
def test_invalid_settings_are_refused_with_the_accepted_values(flags: list[str], why: str) -> None:
    assert refusal(flags).startswith(why)


def refusal(flags: list[str], **variables: str) -> str:
    """Return the error of settings that are refused."""
    with pytest.raises((SettingsError, click.UsageError)) as refused:
        read_settings(flags, variables)
    error = refused.value
    return error.format_message() if isinstance(error, click.UsageError) else str(error)


def test_errors_name_the_variable_or_the_key_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("threads = 2000\n", "utf-8")
    assert refusal([], EMINENCE_THREADS="x") == "Invalid value for EMINENCE_THREADS: 'x' is not an integer in 0..1024"
    assert refusal(["--config", str(file)]) == "Invalid value for threads: '2000' is not an integer in 0..1024"
    assert refusal([], EMINENCE_CONFIG="/nowhere").startswith("Invalid value for EMINENCE_CONFIG: /nowhere cannot")
    assert "EMINENCE_INSECURE" in refusal([], EMINENCE_INSECURE="perhaps")


def test_the_lowest_and_the_highest_port_are_accepted() -> None:
    for port in ("0", "65535"):
        settings = read_settings(["--address", f"127.0.0.1:{port}", "--metrics", f"[::1]:{port}"], {})
        assert (settings.address, settings.metrics) == (f"127.0.0.1:{port}", f"[::1]:{port}")


def test_an_address_of_ray_selects_its_backend() -> None:
    def chosen(*flags: str, **environment: str) -> tuple[str, str]:
        settings = read_settings(flags, environment)
        return settings.backend, settings.ray_address

    assert chosen() == ("threads", "")
    assert chosen("--backend", "ray") == ("ray", "")
    assert chosen("--ray-address", "auto") == ("ray", "auto")
    assert chosen(EMINENCE_RAY_ADDRESS="a:1") == ("ray", "a:1")
    # RAY_ADDRESS comes after our own variable, and does not apply to the threads backend.
    assert chosen(RAY_ADDRESS="a:1") == ("ray", "a:1")
    assert chosen("--backend", "ray", RAY_ADDRESS="a:1") == ("ray", "a:1")
    assert chosen(RAY_ADDRESS="a:1", EMINENCE_RAY_ADDRESS="b:2") == ("ray", "b:2")
    assert chosen("--backend", "threads", RAY_ADDRESS="a:1") == ("threads", "")


def test_a_public_address_needs_the_insecure_flag_or_tls() -> None:
    assert not read_settings(["--address", "0.0.0.0:1", "--insecure"], {}).is_loopback
    assert read_settings(["--address", "0.0.0.0:1", "--tls-cert", "x", "--tls-key", "x"], {}).tls_cert
    for address in ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/tmp/x"):
        assert read_settings(["--address", address], {}).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "127.evil.com", "unixish", "127.1", "", "[::]", "192.0.2.1"])
@pytest.mark.parametrize("setting", ["address", "web", "metrics"])
def test_an_address_that_others_can_reach_is_not_loopback(setting: str, host: str) -> None:
    assert refusal([f"--{setting}", f"{host}:50998"]).startswith(f"{setting}: other machines can reach {host}:50998")
    assert getattr(read_settings([f"--{setting}", f"{host}:50998", "--insecure"], {}), setting)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("treads = 1", "treads is not a setting (address, web, "),
        ("threads = '1'x", "cannot be read"),
        ("threads = 2.5", "server.toml: threads: 2.5 is not an integer"),
        ("threads = true", "server.toml: threads: True is not an integer"),
        ("threads = '2'", "server.toml: threads: '2' is not an integer"),
        ("log = 1", "server.toml: log: 1 is not a string"),
        ("log = 'loud'", "Invalid value for log: 'loud' is not one of"),
        ("insecure = 'perhaps'", "server.toml: insecure: 'perhaps' is not a boolean"),
        ("self_test = 1", "server.toml: self_test: 1 is not a boolean"),
        ("cache_file = {a = 1}", "server.toml: cache_file: {'a': 1} is not a string"),
        ("cache_file = 2026-11-19", "server.toml: cache_file: datetime.date(2026, 11, 19) is not a string"),
        ("tokens = ['a']", "server.toml: tokens: ['a'] is not a string"),
    ],
)
def test_invalid_lines_of_the_file_are_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text, "utf-8")
    assert why in refusal(["--config", str(file)])


def test_both_commands_that_start_the_server_have_the_same_options() -> None:
    def help_of(*command: str) -> str:
        return subprocess.check_output([*command, "--help"], text=True, env=environment())

    usage, _, options = help_of(*command("serve")).partition("\n")
    assert usage == "Usage: eminence serve [OPTIONS]"
    assert options == help_of(sys.executable, "-m", "server").partition("\n")[2]
    assert all(f"  --{setting.name.replace('_', '-')} " in options for setting in fields(Settings))
