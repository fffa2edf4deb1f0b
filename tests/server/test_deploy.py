"""The files in deploy/ set settings that exist, and pass the checks of the tools that read them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from process import server
from program import ROOT, read_settings

from server.settings import PREFIX, Settings

DEPLOY = ROOT / "deploy"
# The server needs the time that it gives its searches, and less than three seconds more.
LEAST_STOP_SECONDS = Settings().drain_ms / 1000 + 3


def unit() -> dict[str, str]:
    """Return the settings of the systemd unit."""
    return dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / "eminence.service").read_text("utf-8"), re.M))


def compose() -> Any:
    return import_module("yaml").safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]["eminence"]


def variables_of_the_image() -> dict[str, str]:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    return dict(re.findall(rf"^(?:ENV)?\s+({PREFIX}_\w+)=(\S+)", text, re.M))


def test_the_unit_sets_settings_that_exist(tmp_path: Path) -> None:
    program, command, *flags = shlex.split(unit()["ExecStart"])
    assert (Path(program).name, command) == ("eminence", "serve")
    flags = [flag.replace("/etc/eminence", str(DEPLOY)).replace("%S", "/var/lib") for flag in flags]
    settings = read_settings(flags, {})
    assert (settings.cache_file, settings.metrics) == ("/var/lib/eminence/answers", "127.0.0.1:9464")
    # The commented settings, too.
    text = re.sub(r"^# (?=\w+ = )", "", (DEPLOY / "server.toml").read_text("utf-8"), flags=re.M)
    (tmp_path / "server.toml").write_text(text.replace('address = "127.0.0.1:50051"\n', ""), "utf-8")
    assert read_settings(["--config", str(tmp_path / "server.toml")], {}).tokens == "/etc/eminence/tokens.toml"
    assert float(unit()["TimeoutStopSec"]) > LEAST_STOP_SECONDS


def test_the_pods_set_settings_that_exist_and_end_in_time() -> None:
    documents = list(import_module("yaml").safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))
    deployment, service, budget, policy = documents
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {entry["name"]: entry["value"] for entry in container["env"]}
    settings = read_settings([], variables_of_the_image() | variables)
    assert settings.insecure
    port = int(settings.address.rpartition(":")[2])
    probes = [container[f"{name}Probe"] for name in ("startup", "readiness", "liveness")]
    assert {probe["grpc"]["port"] for probe in probes} == {port}
    ports = {entry["name"]: entry["containerPort"] for entry in container["ports"]}
    assert ports == {"grpc": port, "metrics": int(settings.metrics.rpartition(":")[2])}
    assert service["spec"]["ports"][0]["port"] == port
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > pause + LEAST_STOP_SECONDS
    assert settings.threads == int(container["resources"]["requests"]["cpu"])
    assert settings.memory_total_bytes is not None
    assert settings.memory_total_bytes + settings.cache_mb * 2**20 < 2**30
    assert container["resources"]["limits"]["memory"] == "1Gi"
    (mount,) = container["volumeMounts"]
    assert settings.cache_file.startswith(mount["mountPath"])
    assert f"--uid {pod['securityContext']['runAsUser']} " in (DEPLOY / "Dockerfile").read_text("utf-8")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = (service["spec"]["selector"], budget["spec"]["selector"]["matchLabels"])
    assert all(selector == labels for selector in (*selectors, policy["spec"]["podSelector"]["matchLabels"]))


def test_the_image_and_its_service_set_settings_that_exist() -> None:
    image, service = variables_of_the_image(), compose()
    known = {f"{PREFIX}_{setting.name.upper()}" for setting in fields(Settings)}
    assert set(image) == {"EMINENCE_ADDRESS", "EMINENCE_WEB", "EMINENCE_CACHE_FILE"} <= known
    assert set(service["environment"]) <= known
    settings = read_settings([], image | service["environment"])
    assert settings.insecure
    assert settings.cache_file.startswith("/var/lib/eminence/")
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert float(service["stop_grace_period"].removesuffix("s")) > LEAST_STOP_SECONDS
    # The Dockerfile copies only files that exist.
    for name in re.findall(r"^!([\w.]+)$", (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8"), re.M):
        assert (ROOT / name).exists(), name


def test_the_image_alone_does_not_serve_without_encryption() -> None:
    with pytest.raises(ValueError, match="set tls_cert and tls_key"):
        read_settings([], variables_of_the_image())


def test_the_health_check_of_the_service_succeeds_only_while_it_serves() -> None:
    kind, python, *command = compose()["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")

    def check(address: str) -> int:
        code = [part.replace("127.0.0.1:50051", address) for part in command]
        return subprocess.run([sys.executable, *code], capture_output=True, timeout=60).returncode

    with server(wait=False) as running:
        assert check(running.address) in (0, 1)
        running.wait_until_serving()
        assert check(running.address) == 0
        address = running.address
    assert check(address) == 1


def test_the_dockerfile_is_in_good_style() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    result = subprocess.run([hadolint, "--no-color", DEPLOY / "Dockerfile"], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here (Debian: systemd)")
    program = Path(sys.executable).parent / "eminence"
    text = (DEPLOY / "eminence.service").read_text("utf-8").replace("/opt/eminence/bin/eminence", str(program))
    (tmp_path / "eminence.service").write_text(text, "utf-8")
    verify = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "eminence.service")]
    result = subprocess.run(verify, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
