"""Files that are durable when ``write`` returns, and nothing half-written when it fails."""

from __future__ import annotations

import errno
import time
from pathlib import Path

import pytest

from registry_server.storage import durable
from registry_server.storage.durable import Durable


def test_a_failed_write_leaves_no_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread meets a full disk while the others still write: what they finish afterwards is cleaned up, too."""
    fill = durable._fill

    def full_for_one(place: str, content: bytes, *, sync: bool) -> None:
        if content == b"0":
            raise OSError(errno.ENOSPC, "full")
        time.sleep(0.05)
        fill(place, content, sync=sync)

    monkeypatch.setattr(durable, "_fill", full_for_one)
    with pytest.raises(OSError, match="full"):
        Durable(tmp_path).write([(f"{number}", b"%d" % number) for number in range(4)])
    time.sleep(0.2)  # whatever still runs has written by then
    assert list(tmp_path.iterdir()) == []
