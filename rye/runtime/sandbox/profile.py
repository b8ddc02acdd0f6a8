"""What one call may touch: the operator's grants and the limits, never a wish of the package (design: docs/tools.md)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from rye.limits import SANDBOX


class HostPort(Struct, frozen=True, order=True):
    """A host's name in lower case, or an address, and one port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Profile(Struct, frozen=True):
    """The walls of one call. All paths are absolute."""

    project: Path
    """The tool sees the project here, where it really is."""
    work: Path
    """An empty folder of this call alone: the tool starts in it, may write in it, and has it as HOME and TMPDIR."""
    deny: tuple[Path, ...] = ()
    """Never readable, wherever they are: Rye's own folders."""
    write: tuple[Path, ...] = ()
    """Granted folders and files of the project."""
    network: tuple[HostPort, ...] = ()
    """Reached through ``http_proxy`` and ``https_proxy``; nothing else of any network is."""
    env: tuple[tuple[str, str], ...] = ()
    """The whole environment, sorted by name."""
    memory: int = SANDBOX.memory_bytes
    cpu_seconds: int = SANDBOX.cpu_seconds
    processes: int = SANDBOX.processes
    file_bytes: int = SANDBOX.file_bytes
    seconds: float = SANDBOX.seconds
    """By the clock, then every process of the tool is killed."""
