"""``/renovate/KIND/NAMESPACE/…/NAME.json``: an item's versions for Renovate's custom data source.

The format is Renovate's own (docs/usage, custom data sources), so it needs no transformation: ``releases`` with
``version``, ``releaseTimestamp``, ``isDeprecated``, ``digest`` and ``changelogUrl``. The digest is the SHA-256 of the
item's file, as in rye.lock; the changelog is the release's page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from registry_server.pages.addresses import item_path
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Release


def document(releases: Iterable[Release], is_deprecated: bool, address: str) -> bytes:
    """Return the document. ``releases``: in log order; ``address``: the registry's, without a trailing slash."""
    rows = [
        {
            "version": release.version,
            "releaseTimestamp": write_time(release.time),
            "isDeprecated": is_deprecated,
            "digest": release.file.sha256,
            "changelogUrl": f"{address}{item_path(release.identity, release.version)}",
        }
        for release in releases
    ]
    return (json.dumps({"releases": rows}, indent=1) + "\n").encode()
