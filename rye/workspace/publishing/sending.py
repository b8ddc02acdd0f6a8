"""From a batch to the log: requests no larger than the server accepts, and the proof that what was sent is in the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import PUBLISHING, REGISTRY
from rye.publishing.collect import RefusedItem
from rye.publishing.release import Publishable
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Release
from rye.registry.transport.api import ApiError, RegistryApi
from rye.workspace.publishing.batch import Batch
from rye.workspace.publishing.owner_statements import owner_signer

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.signing.signing_key import SigningKey
    from rye.workspace.context import Context


def stage(context: Context, api: RegistryApi, batch: Batch) -> tuple[str, ...]:
    """Upload the bytes and the notes for maintainers to sign. Return the stage of each release."""
    _upload(context, api, batch.items)
    drafts = [release.text() for release in batch.releases]
    addresses: list[str] = []
    for start in range(0, len(drafts), PUBLISHING.request_statements):
        addresses += [row.id for row in api.post_stages(drafts[start : start + PUBLISHING.request_statements]).stages]
    return tuple(addresses)


def send(context: Context, api: RegistryApi, batch: Batch, signing_key: SigningKey) -> tuple[Batch, tuple[int, ...]]:
    """Log the releases, in requests no larger than the server accepts. Small files are sent in the same requests. Return the
    batch that was logged, and the position of each of its releases.

    Dependencies come first, so every request is complete by itself. If one fails, the earlier ones stay logged, and
    publishing again continues from there. A request that the server refuses for what it says is sent in halves, until the item
    that it refuses stands alone and is left out.
    """
    signed = [
        notes.sign(release.text(), [owner_signer(release.origin, release.identity.namespace, signing_key)]).encode()
        for release in batch.releases
    ]
    small = [item if item.size <= PUBLISHING.inline_item_bytes else None for item in batch.items]
    _upload(context, api, [item for item, inline in zip(batch.items, small, strict=True) if inline is None])
    positions: list[int | None] = []
    refused: list[RefusedItem] = []
    at_once = PUBLISHING.request_statements
    with context.progress("publishing", len(signed)) as advance:
        while (first := len(positions)) < len(signed):
            along = _fitting(small[first : first + at_once])
            part = signed[first : first + len(along)]
            files = {sha256: data for item in along if item is not None for sha256, data in item.blobs.items()}
            try:
                answer = api.post_statements(part, list(files.values()))
            except ApiError as error:
                if error.status in _ABOUT_THE_ITEMS:
                    if len(signed) == 1:
                        raise
                    if len(part) == 1:
                        refused.append(RefusedItem(batch.items[first].shown, error))
                        positions.append(None)
                    at_once = max(1, len(part) // 2)
                    continue
                if error.code != "request-too-large" or (len(part) == 1 and not files):
                    raise
                if files:
                    _upload(context, api, [item for item in small[first:] if item is not None])
                    small = [None] * len(signed)
                else:
                    at_once = (len(part) + 1) // 2
                continue
            positions.extend(result.log for result in answer.results)
            advance(len(part))
            if refused:
                at_once = min(2 * at_once, PUBLISHING.request_statements)
    if len(refused) == len(signed):
        raise refused[0].error
    logged = [index for index, position in enumerate(positions) if position is not None]
    sent = replace(
        batch,
        releases=tuple(batch.releases[index] for index in logged),
        items=tuple(batch.items[index] for index in logged),
        alarms=tuple(batch.alarms[index] for index in logged),
        refused=(*batch.refused, *refused),
    )
    return sent, tuple(position for position in positions if position is not None)


_ABOUT_THE_ITEMS = frozenset((400, 409, 422))
"""Status of answers that refuse what was sent, rather than who sent it, when, or how much."""


def _fitting(items: Sequence[Publishable | None]) -> Sequence[Publishable | None]:
    """The leading items whose files fit into one request. None is an item whose files were uploaded separately."""
    total = 0
    for count, item in enumerate(items):
        total += item.size if item is not None else 0
        if total > PUBLISHING.inline_bytes:
            return items[:count]
    return items


def _upload(context: Context, api: RegistryApi, items: Iterable[Publishable]) -> None:
    blobs = {sha256: data for item in items for sha256, data in item.blobs.items()}
    if not blobs:
        return
    with context.progress("uploading", len(blobs)) as advance, ThreadPoolExecutor(REGISTRY.concurrency) as pool:

        def put(entry: tuple[str, bytes]) -> None:
            api.put_blob(*entry)
            advance()

        try:
            list(pool.map(put, blobs.items()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def check_logged(client: RegistryClient, releases: Sequence[Release]) -> None:
    """Read the releases back, with proofs that they are in the log. Raises RyeError ``not-in-log``."""
    client.refresh()
    records = client.releases([release.identity for release in releases])
    logged = [
        record
        for release in releases
        for record in records[release.identity]
        if record.version == release.version and record.release.file == release.file
    ]
    if len(logged) != len(releases):
        raise RyeError(
            "not-in-log",
            "The registry accepted the releases, but they are not in the registry's log.",
            "Do not rely on them. `rye log verify` checks the registry.",
        )
    client.check_logged(logged)
