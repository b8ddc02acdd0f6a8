"""What of the system every tool may read: programs, libraries, certificates, time zones. Nobody's data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Read and run."""

_SETTINGS = """
    ld.so.cache ld.so.conf ld.so.conf.d alternatives ssl/certs ssl/openssl.cnf pki/tls/certs pki/tls/cert.pem
    pki/ca-trust/extracted/pem ca-certificates localtime timezone mime.types os-release nsswitch.conf host.conf
    protocols services
"""
SETTINGS = tuple(f"/etc/{name}" for name in _SETTINGS.split())
"""Read. ``passwd``, ``hosts`` and private keys are not among them."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""Read and written."""


def real(paths: Iterable[str]) -> tuple[Path, ...]:
    """Those that exist, without symbolic links, each once."""
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths if os.path.exists(path)))


def around(root: Path, holes: Sequence[Path]) -> tuple[Path, ...]:
    """A folder without the holes in it: itself where it has none, else its entries around them."""
    inside = [hole for hole in holes if hole.is_relative_to(root)]
    if not inside:
        return (root,)
    if root in inside:
        return ()
    found: list[Path] = []
    try:
        entries = sorted(entry.name for entry in os.scandir(root) if not entry.is_symlink())
    except OSError:
        return ()
    for name in entries:
        found += around(root / name, inside)
    return tuple(found)
