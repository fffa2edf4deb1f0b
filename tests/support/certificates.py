"""Certificates for TLS, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_certificate(folder: Path, name: str, signer: str | None = None) -> str:
    """Write `name`.key and `name`.pem for localhost, signed by `signer` or by itself; return the path of the .pem."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", f"/CN={name}"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    if signer:
        command += ["-CA", str(folder / f"{signer}.pem"), "-CAkey", str(folder / f"{signer}.key")]
    subprocess.run(command, check=True, capture_output=True)
    return str(certificate)
