"""Several small files in one answer: ``/map/<sha256>-<sha256>-…`` and ``/index/<sha256>-<sha256>-…``
(docs/reference/name-map.md).

The answer has the files in the order of the path, each after its length in four bytes, the highest first. Nothing in it is
trusted: each file is checked like one that came alone. A server need not have such paths, and a folder of files never has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

FOLDERS = ("map", "index")
MOST_FILES = 64
"""Files in one answer; their path has about 4 kB."""
LENGTH_BYTES = 4
MOST_BYTES = MOST_FILES * (160 * 1024 + LENGTH_BYTES)
"""One answer: as many of the largest nodes of the name map."""


def is_joinable(name: str) -> bool:
    """Whether this is the name of a file that can come with others."""
    return _name().fullmatch(name) is not None


def joined_path(folder: str, hashes: Sequence[str]) -> str:
    """The path of these files in one answer, relative to the registry's address."""
    return f"{folder}/{'-'.join(hashes)}"


def joined_files(path: str) -> tuple[str, ...] | None:
    """The files that a path asks for together, as paths relative to the registry's address; None if it is no such path.

    No file is named twice, so that a short question never has a long answer.
    """
    match = _path().fullmatch(path)
    if match is None:
        return None
    hashes = match[2].split("-")
    if len(set(hashes)) != len(hashes):
        return None
    return tuple(f"{match[1]}/{sha256}" for sha256 in hashes)


def join(files: Iterable[bytes]) -> bytes:
    """Write the answer."""
    return b"".join(len(data).to_bytes(LENGTH_BYTES, "big") + data for data in files)


def split(data: bytes, number: int) -> list[bytes] | None:
    """The files of an answer; None unless it has exactly this number and nothing else."""
    files: list[bytes] = []
    at = 0
    while at < len(data) and len(files) < number:
        begin = at + LENGTH_BYTES
        at = begin + int.from_bytes(data[at:begin], "big")
        if begin > len(data) or at > len(data):
            return None
        files.append(data[begin:at])
    return files if len(files) == number and at == len(data) else None


_SHA256 = "[0-9a-f]{64}"


@cache
def _name() -> re.Pattern[str]:
    return re.compile(_SHA256)


@cache
def _path() -> re.Pattern[str]:
    return re.compile(rf"({'|'.join(FOLDERS)})/({_SHA256}(?:-{_SHA256}){{1,{MOST_FILES - 1}}})")
