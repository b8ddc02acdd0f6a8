"""``/renovate/KIND/NAMESPACE/…/NAME.json``: one item's versions, as Renovate's custom data source reads them.

The form is Renovate's own (docs/usage, custom data sources), so no transformation is needed: ``releases`` with ``version``,
``releaseTimestamp``, ``isDeprecated``, ``digest`` and ``changelogUrl``. The digest is the SHA-256 of the item's file, as in
rye.lock; the changelog is the release's page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from registry_server.pages.addresses import item_path
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Release


def document(releases: Iterable[Release], is_deprecated: bool, address: str) -> bytes:
    """``address``: the registry's, without a slash at its end. The releases in the log's order."""
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
