"""Create a rendered item from its text and metadata."""

from __future__ import annotations

from collections.abc import Mapping

from rye.text.yaml_reading import json_safe
from rye.workspace.findings import FileFindings
from rye.workspace.items.effective_item import EffectiveItem
from rye.workspace.items.rendered import Rendered, Used


def rendered(
    found: EffectiveItem,
    prompt: str,
    inputs: Mapping[str, object],
    value: object,
    findings: tuple[FileFindings, ...] = (),
    overlay: str | None = None,
) -> Rendered:
    """The rendered item. ``value``: the parsed item; ``findings``: findings about overlays, listed after those about overrides;
    ``overlay``: the file that changed its steps."""
    metadata = found.item.reading.metadata
    capabilities = metadata.capabilities if metadata else ()
    return Rendered(
        id=found.id,
        kind=found.item.kind.name,
        shown=found.item.shown,
        prompt=prompt,
        inputs=inputs,
        capabilities=capabilities,
        rights=list(capabilities),
        hooks=[],
        model=json_safe(getattr(value, "provider", None)),
        limits=json_safe(getattr(value, "limits", None)),
        agent_tools=metadata.agent_tools.names if metadata and metadata.agent_tools else (),
        diagnostics=found.own_findings(),
        findings=(*found.findings, *findings),
        customizations=(
            *(Used("override", path) for path in found.overrides),
            *((Used("overlay", overlay),) if overlay is not None else ()),
        ),
    )
