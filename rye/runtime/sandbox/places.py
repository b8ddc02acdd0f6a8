"""The parts of the system that every tool may read: programs, libraries, certificates, time zones. No user data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""May be read and executed."""

_SETTINGS = """
    ld.so.cache ld.so.conf ld.so.conf.d alternatives ssl/certs ssl/openssl.cnf pki/tls/certs pki/tls/cert.pem
    pki/ca-trust/extracted/pem ca-certificates localtime timezone mime.types os-release nsswitch.conf host.conf
    protocols services
"""
SETTINGS = tuple(f"/etc/{name}" for name in _SETTINGS.split())
"""May be read. Excludes ``passwd``, ``hosts`` and private keys."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""May be read and written."""


def real(paths: Iterable[str]) -> tuple[Path, ...]:
    """Return the paths that exist, with symbolic links resolved and without duplicates."""
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths if os.path.exists(path)))


def around(root: Path, holes: Sequence[Path]) -> tuple[Path, ...]:
    """Return a folder without its holes: the folder itself if it contains none, otherwise the entries around them."""
    inside = [hole for hole in holes if hole.is_relative_to(root)]
    if not inside:
        return (root,)
    if root in inside:
        return ()
    paths: list[Path] = []
    try:
        entries = sorted(entry.name for entry in os.scandir(root) if not entry.is_symlink())
    except OSError:
        return ()
    for name in entries:
        paths += around(root / name, inside)
    return tuple(paths)
