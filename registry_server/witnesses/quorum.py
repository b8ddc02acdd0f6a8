"""How many witnesses are enough for the registry to serve a head as cosigned: the setting ``witness_quorum``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from registry_server.settings import Settings
from registry_server.witnesses.records import WitnessRow
from rye.errors import RyeError, UsageError
from rye.registry.protocol.cosignatures import CosignerKey
from rye.registry.protocol.witness_policy import MAX_POLICY_BYTES, Policy, read_policy


def quorum_of(settings: Settings, witnesses: Sequence[WitnessRow]) -> Policy:
    """Return the policy in force for these witnesses. One that has two keys counts once, if a number is demanded.

    Raises RyeError ``bad-setting``, ``policy-malformed``.
    """
    demanded = settings.witness_quorum.strip()
    if demanded and not demanded.isdecimal():
        return read_policy(read_file(settings.data / demanded))
    names: dict[str, list[CosignerKey]] = {}
    for witness in witnesses:
        names.setdefault(witness.key.name, []).append(witness.key)
    least = int(demanded) if demanded else len(names)
    if not 1 <= least <= len(names):
        message = f"witness_quorum is {demanded or 'empty'}, and {len(names)} witnesses are configured."
        raise UsageError("bad-setting", message, "`rye-registry witness add` adds one.")
    rows, members = [], []
    for number, keys in enumerate(names.values(), 1):
        own = [f"w{number}k{index}" for index in range(len(keys))]
        rows += [f"witness {name} {key.vkey}" for name, key in zip(own, keys, strict=True)]
        rows.append(f"group w{number} {'any' if demanded else 'all'} {' '.join(own)}")
        members.append(f"w{number}")
    rows += [f"group enough {least} {' '.join(members)}", "quorum enough"]
    return read_policy("".join(f"{row}\n" for row in rows).encode())


def suggested_policy(settings: Settings) -> str | None:
    """Return the policy that clients see as a suggestion, after checking it. Raises RyeError ``policy-malformed``."""
    if not settings.witness_policy:
        return None
    data = read_file(settings.data / settings.witness_policy)
    read_policy(data)
    return data.decode()


def read_file(path: Path) -> bytes:
    """Return a policy file's bytes, at most one more than allowed. Raises RyeError ``bad-config``."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_POLICY_BYTES + 1)
    except OSError as error:
        raise RyeError("bad-config", f"{path} cannot be read: {error}.", "Check the path and its owner.") from error
