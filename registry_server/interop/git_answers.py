"""The responses of ``git upload-pack`` for a repository with one branch and one commit without parents.

Pure functions from a request and a repository to the bytes of the response. Read-only, protocol versions 2 and 0,
stateless over HTTP (gitprotocol-http(5), gitprotocol-v2(5)).

* The history is a single commit, so a depth of one is complete and the response names no shallow boundary.
* A want must name the current commit or an earlier one that is still offered. Any other is refused.
* A client's haves matter only if they include that commit: the pack is always complete, because everything may have
  changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from registry_server.interop.git_lines import Fetch, GitRefusal, ListRefs, line
from registry_server.interop.git_objects import RepositorySnapshot
from rye import __version__

BRANCH = "refs/heads/main"
ADVERTISED = "application/x-git-upload-pack-advertisement"
RESULT = "application/x-git-upload-pack-result"
ASKED = "application/x-git-upload-pack-request"
_FLUSH, _DELIMITER = b"0000", b"0001"
_AGENT = f"agent=rye-registry/{__version__}"
_CAPABILITIES = (
    "shallow deepen-since deepen-not deepen-relative side-band side-band-64k ofs-delta thin-pack no-progress include-tag "
    f"symref=HEAD:{BRANCH} object-format=sha1 {_AGENT}"
)


def advertise_version_0(commit: str) -> bytes:
    """Return the branches for a client of version 0 (``info/refs``)."""
    refs = line(f"{commit} HEAD\0{_CAPABILITIES}\n") + line(f"{commit} {BRANCH}\n")
    return line("# service=git-upload-pack\n") + _FLUSH + refs + _FLUSH


def advertise_version_2() -> bytes:
    """Return the capabilities for a client of version 2."""
    lines = ("version 2\n", f"{_AGENT}\n", "ls-refs\n", "fetch=shallow\n", "object-format=sha1\n")
    return line("# service=git-upload-pack\n") + _FLUSH + b"".join(map(line, lines)) + _FLUSH


def list_refs(asked: ListRefs, commit: str) -> bytes:
    """Return the response to ``ls-refs``."""
    head = f"{commit} HEAD{f' symref-target:{BRANCH}' if asked.symrefs else ''}\n"
    named = (("HEAD", head), (BRANCH, f"{commit} {BRANCH}\n"))
    wanted = [text for name, text in named if not asked.prefixes or name.startswith(asked.prefixes)]
    return b"".join(map(line, wanted)) + _FLUSH


def fetched_version_2(asked: Fetch, snapshot: RepositorySnapshot) -> Iterator[bytes]:
    """Return the response to ``fetch``. Raises GitRefusal before the first bytes."""
    _check_part(asked, snapshot)
    return _version_2(asked, snapshot)


def _version_2(asked: Fetch, snapshot: RepositorySnapshot) -> Iterator[bytes]:
    if asked.haves and not asked.done:
        yield line("acknowledgments\n")
        if snapshot.commit not in asked.haves:
            yield line("NAK\n") + _FLUSH
            return
        yield line(f"ACK {snapshot.commit}\n") + line("ready\n") + _DELIMITER
    if asked.deepens:
        yield line("shallow-info\n") + _DELIMITER
    yield line("packfile\n")
    yield from _banded(snapshot.pack, asked.band)


def fetched_version_0(asked: Fetch, snapshot: RepositorySnapshot) -> Iterator[bytes]:
    """Return the response to a request of version 0. Raises GitRefusal before the first bytes."""
    _check_part(asked, snapshot)
    return _version_0(asked, snapshot)


def _version_0(asked: Fetch, snapshot: RepositorySnapshot) -> Iterator[bytes]:
    if asked.deepens:
        yield _FLUSH  # there is no shallow boundary
    if not asked.done:
        yield line("NAK\n") if asked.negotiates else b""
        return
    yield line("NAK\n")
    if asked.band:
        yield from _banded(snapshot.pack, asked.band)
    else:
        yield snapshot.pack


def refused(message: str) -> bytes:
    """Return a response that git shows as ``remote error: …``."""
    return line(f"ERR {message}\n")


def _check_part(asked: Fetch, snapshot: RepositorySnapshot) -> None:
    if asked.excludes or (asked.since is not None and snapshot.seconds < asked.since):
        raise GitRefusal("no commits selected for shallow requests")


def _banded(pack: bytes, most: int) -> Iterator[bytes]:
    """Yield the pack as side-band lines."""
    view = memoryview(pack)
    step = most - 5
    for start in range(0, len(pack), step):
        yield line(b"\x01" + bytes(view[start : start + step]))
    yield _FLUSH
