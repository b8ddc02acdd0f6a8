"""What is checked before a batch is sent: the key, the token and the checkout; and what is worth a second look, since a release
is permanent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.items.named import ItemNames
from rye.items.placeholder_text import placeholder_text
from rye.project.context import load_manifest
from rye.project.layout import find_project
from rye.publishing.release import Publishable
from rye.publishing.working_tree import uncommitted
from rye.registry.protocol.derivation import candidates
from rye.registry.protocol.statements import Keyset
from rye.registry.transport.api import RegistryApi
from rye.resolution.versions import Version
from rye.workspace.items.absences import present_items
from rye.workspace.publishing.batch import Records
from rye.workspace.publishing.owner_statements import require_owner

if TYPE_CHECKING:
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


def require_single_signature(keyset: Keyset) -> None:
    """Require that one signature is enough for a release. Raises RyeError ``more-signatures-needed``."""
    if keyset.release_threshold > 1:
        raise RyeError(
            "more-signatures-needed",
            f"A release of {keyset.namespace!r} needs the signatures of {keyset.release_threshold} maintainers.",
            "Stage it with `rye publish --stage`. Each maintainer then runs `rye stage approve`.",
        )


def require_key(keys: OwnKeys, keyset: Keyset, name: str | None, api: Callable[[], RegistryApi]) -> None:
    """Require a key of the namespace. Who has no key at all, but a token that may stage, is told to stage.

    Raises RyeError ``no-key`` and ``not-an-owner``.
    """
    try:
        require_owner(keys, keyset, name)
    except RyeError as error:
        if error.code != "no-key" or keys.list():
            raise
        try:
            scopes = api().whoami().scopes
        except RyeError:  # what is missing first is the key
            raise error from None
        if "stage" not in scopes:
            raise
        stage = "`rye publish --stage` uploads it for a maintainer to sign."
        hint = f"{error.hint} Without one, {stage}" if "publish" in scopes else f"Your token can stage: {stage}"
        raise RyeError(error.code, error.message, hint) from None


def check_token(api: RegistryApi, namespace: str, *, stage: bool) -> None:
    """Check that the token may publish here. Raises RyeError ``insufficient-scope`` and ``wrong-namespace``."""
    account = api.whoami()
    if account.scopes and not stage and "publish" not in account.scopes:
        hint = "Stage it for a maintainer to sign: `rye publish --stage`." if "stage" in account.scopes else None
        message = f"Your token {account.name} cannot publish: its scopes are {', '.join(account.scopes)}."
        raise RyeError(
            "insufficient-scope", message, hint or "Ask the registry's operator for a token with the scope publish."
        )
    if account.namespaces and namespace not in account.namespaces:
        raise RyeError(
            "wrong-namespace",
            f"Your token {account.name} is for {', '.join(account.namespaces)}, not for {namespace}.",
            f"Ask the registry's operator for a token: `rye-registry token create NAME --namespace {namespace}`.",
        )


def refuse_uncommitted(items: Sequence[Publishable]) -> None:
    """Require that git has the bytes of each item. Raises RyeError ``uncommitted``."""
    by_folder: dict[Path, list[Path]] = {}
    for item in items:
        by_folder.setdefault(_checkout(item.path), []).extend(item.paths)
    changed = [name for folder, paths in by_folder.items() for name in uncommitted(paths, folder)]
    if changed:
        raise RyeError(
            "uncommitted",
            f"{changed[0]} is not committed{_nor(len(changed) - 1)}.",
            "Commit it, so that the release can be traced to a commit, or pass --allow-uncommitted.",
        )


def _nor(more: int) -> str:
    return "" if not more else ", nor is 1 more file" if more == 1 else f", nor are {more} more files"


def _checkout(path: Path) -> Path:
    """The folder to run git in: the nearest parent with a ``.git``, so that one call covers a whole project."""
    for folder in path.absolute().parents:
        if (folder / ".git").exists():
            return folder
    return path.absolute().parent


def warn_of_placeholders(context: Context, items: Iterable[Publishable]) -> None:
    """Warn of text that a template left behind: a published version is permanent."""
    for item in items:
        for found in placeholder_text(item.data.decode("utf-8", "replace")):
            context.warn(f"{item.shown}:{found.line}: {found.message}", found.hint)


def warn_of_absent(context: Context, items: Sequence[Publishable]) -> None:
    """Warn of items that the texts name without depending on them: whoever adds the item does not get those."""
    project = find_project(context.cwd)
    if project is None:
        return
    manifest, here = load_manifest(project), present_items(context, project)
    for item in items:
        own = item.identity
        meant = [one for each in item.metadata.dependencies for one in candidates(own, each.reference)]
        declared = [f"{one.kind}:{name}" for one in meant for name in (one.id, one.id.rpartition("/")[2])]
        brought = ItemNames([(own.kind, own.id, own.local_id)], (*declared, *manifest.provides))
        for absent in (one.within(own.namespace) for one in brought.lacks(item.metadata.names)):
            place = item.shown if absent.line is None else f"{item.shown}:{absent.line}"
            if here.lacks([absent]):
                context.warn(f"{place}: This item {absent.message}", absent.hint)
            else:
                context.warn(
                    f"{place}: This item {absent.verb} {absent.name} and does not depend on it, so others lack it.",
                    f"Declare the relation `depends_on` {absent.name} in the item, or publish a bundle of both.",
                )


def warn_of_lower(context: Context, records: Records, items: Sequence[Publishable]) -> None:
    """Warn of versions that nobody gets who asks for the newest."""
    for item in items:
        newest = max((Version.parse(known.version) for known in records[item.identity]), default=None)
        if newest is not None and Version.parse(item.version) < newest:
            context.warn(
                f"{item.identity}: {item.version} is lower than {newest}, which is published already.",
                "Only those who ask for it get it. If you meant a newer one: `rye version bump patch`.",
            )
