"""Items as their authors sign them, and releases of them: honest by default, with every part replaceable."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.reading import ReadOptions, Source
from rye.registry.protocol.derivation import derived_lines
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign
from tests.registry.simulated_registry import SimulatedRegistry, suffix_of
from tests.scenes import directive_text

SIGNED = datetime(2026, 1, 1, tzinfo=UTC)

HOOK = ("cost.current &gt; 1", "ops/alarm", "1")


def directive(identity: Identity, version: str = "1.0.0", **parts: Any) -> str:
    """A directive's text, unsigned; ``parts`` are those of :func:`tests.scenes.directive_text.directive`."""
    return directive_text.directive(identity.local_id, version, **parts)


def skill(identity: Identity, version: str = "1.0.0") -> str:
    """A skill's main file, unsigned."""
    return (
        f"---\nname: {identity.local_id}\ndescription: Reads PDF files.\nmetadata:\n  version: {version}\n---\n\n"
        "# PDF\n\nUse the script.\n"
    )


def signed(identity: Identity, text: str, key: PrivateKey) -> bytes:
    """The item's bytes with its author's signature line."""
    return sign(text, identity.kind, f"x{suffix_of(identity)}", key, SIGNED).encode()


def release(
    registry: SimulatedRegistry,
    identity: Identity,
    version: str,
    text: str,
    *,
    key: PrivateKey | None = None,
    content: bytes | None = None,
    attached: dict[str, bytes] | None = None,
    executable: Collection[str] = (),
    keys: Sequence[PrivateKey] | None = None,
    **changes: object,
) -> int:
    """A release of the item and the lines after it. ``content`` replaces the signed bytes, ``changes`` fields of the note."""
    data = content if content is not None else signed(identity, text, key or registry.namespaces[identity.namespace][0])
    name = identity.id.rpartition("/")[2]
    metadata = KINDS[identity.kind].load().read(Source(text, f"x{suffix_of(identity)}", name), ReadOptions()).metadata
    assert metadata is not None
    derived = derived_lines(identity, metadata, lambda candidates: candidates[0])
    fields: dict[str, object] = {
        "depends_on": derived.depends_on,
        "requires": derived.requires,
        "conflicts_with": derived.conflicts_with,
        "capabilities": derived.capabilities,
        "hooks": derived.hooks,
    }
    return registry.release(
        identity,
        version,
        data,
        attached=attached,
        executable=executable,
        keys=keys,
        **{**fields, **changes},  # type: ignore[arg-type]
    )
