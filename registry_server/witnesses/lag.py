"""How far each witness is behind the log, for metrics, readiness and the operator. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from registry_server.witnesses.records import WitnessRow
from rye.registry.protocol.lines import read_time

LAG_SECONDS = 600
"""A witness that has been behind for longer is reported, although publishing goes on."""


class Lag(Struct, frozen=True):
    """One witness. With two keys, the one that is further behind."""

    name: str
    entries: int
    seconds: int
    """Since it last cosigned; 0 if it is not behind."""
    error: str

    def words(self) -> str:
        """One sentence for the operator."""
        reason = f" {self.error}" if self.error else ""
        return (
            f"The witness {self.name} has been {self.entries} entries behind for {self.seconds // 60} minutes.{reason}"
        )


def lags(witnesses: Sequence[WitnessRow], size: int, now: float) -> list[Lag]:
    """The lag of each witness behind a log of ``size`` entries, by name. One that never cosigned is behind since it was added."""
    by_name: dict[str, Lag] = {}
    for witness in witnesses:
        name, entries = witness.key.name, max(size - witness.size, 0)
        since = witness.cosigned if witness.cosigned is not None else read_time(witness.created).timestamp()
        lag = Lag(name, entries, max(int(now - since), 0) if entries else 0, witness.error)
        if name not in by_name or lag.entries > by_name[name].entries:
            by_name[name] = lag
    return list(by_name.values())
