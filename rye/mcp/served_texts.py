"""The texts that a run offers to its client, as protocol values: prompts, knowledge as resources, and files of skills.

Lists contain what the run may read; completion (``completion/complete``) offers only ids from lists and values of declarations.
Every text itself goes through the session, which decides and logs first.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import mcp_types as types

from rye.errors import RyeError
from rye.items.directive.input_values import InputDeclaration, from_text
from rye.items.identity import is_id
from rye.limits import RUNTIME
from rye.mcp import skills
from rye.runtime.calls import CallError, cut, from_rye_error
from rye.runtime.effects import Ask, UsableItem
from rye.runtime.opening import Opened
from rye.workspace.registries.log_audit import known_proof

_SCHEME = "rye://"
TEMPLATE = "rye://{+id}@{version}"
"""The template of knowledge addresses."""
_MOST = 100
"""The most values of one answer, by the protocol."""


def prompt(opened: Opened, name: str, kind: str, item_id: str) -> types.Prompt | None:
    """Return the list entry of a prompt; None if the item cannot be used."""
    try:
        item = opened.items.read(kind, item_id, runs=False)
    except RyeError:
        return None
    arguments = [
        types.PromptArgument(
            name=each.name, description=f"{each.description} ({each.type})".strip(), required=each.required
        )
        for each in (item.directive.inputs if item.directive is not None else ())
    ]
    return types.Prompt(name=name, description=item.description, arguments=arguments)


def inputs(opened: Opened, kind: str, item_id: str) -> tuple[InputDeclaration, ...]:
    """Return the inputs that a prompt declares; none if the item cannot be used."""
    try:
        found = opened.items.read(kind, item_id, runs=False).directive
    except RyeError:
        return ()
    return found.inputs if found is not None else ()


def prompt_text(
    opened: Opened,
    kind: str,
    item_id: str,
    arguments: dict[str, str],
    ask: Ask,
) -> str:
    """Return the text of a prompt. A directive that the run may execute is started, which narrows the run from then on.
    Raises CallError."""
    session = opened.session
    if kind == "skill":
        return session.load_item(kind, item_id, ask=ask).text
    own = opened.directive
    if own is not None and own.id == item_id:
        return session.own_prompt(own, _values(own, arguments))
    if not session.may("execute", kind, item_id):
        item = session.load_item(kind, item_id, ask=ask)
        return _rendered(opened, item, arguments)
    try:
        values = _values(opened.items.read(kind, item_id, runs=True), arguments)
    except RyeError:
        values = dict(arguments)  # the call below reports the error
    call = {"item_type": kind, "item_id": item_id, "parameters": values}
    return str(session.act("rye_execute", call, ask=ask)["prompt"])


def _rendered(opened: Opened, item: UsableItem, arguments: dict[str, str]) -> str:
    if item.directive is None:
        raise CallError("not-runnable", f"{item.label} is not a valid directive.", "Run `rye validate`.")
    try:
        return opened.items.render(item, _values(item, arguments))
    except RyeError as error:
        raise from_rye_error(error, item.label) from error


def _values(item: UsableItem, arguments: dict[str, str]) -> dict[str, object]:
    """Convert prompt arguments, which are texts, to the types of the directive's inputs."""
    types_ = {each.name: each.type for each in item.directive.inputs} if item.directive is not None else {}
    values: dict[str, object] = {}
    for name, text in arguments.items():
        try:
            values[name] = from_text(types_[name], text) if name in types_ else text
        except ValueError:
            values[name] = text  # rendering reports the expected type
    return values


def resource(opened: Opened, item_id: str) -> types.Resource | None:
    """Return the list entry of a knowledge item; None if it cannot be used."""
    try:
        item = opened.items.read("knowledge", item_id, runs=False)
    except RyeError:
        return None
    meta = {"signer": item.signer, "sha256": item.sha256}
    return types.Resource(
        uri=_uri(item),
        name=item.id,
        description=item.description,
        mime_type="text/markdown",
        size=len(item.text.encode()),
        _meta=meta,
    )


def _uri(item: UsableItem) -> str:
    return f"{_SCHEME}{item.id}@{item.version}" if item.version else f"{_SCHEME}{item.id}"


def read(opened: Opened, uri: str, ask: Ask) -> types.TextResourceContents | types.BlobResourceContents:
    """Return the content of a knowledge item or a skill's file. Raises CallError."""
    if uri.startswith(skills.SCHEME):
        return _read_skill_file(opened, uri, ask)
    item_id, at, version = uri.removeprefix(_SCHEME).partition("@")
    if not uri.startswith(_SCHEME) or not is_id(item_id) or (at and not version):
        message = f"{cut(uri, 200)!r} is not a resource of this server."
        raise CallError("invalid-parameters", message, "Use rye://NAMESPACE/CATEGORY/NAME@VERSION.")
    item = opened.session.load_item("knowledge", item_id, version or None, ask=ask)
    meta = {"signer": item.signer, "sha256": item.sha256}
    return types.TextResourceContents(uri=uri, mime_type="text/markdown", text=item.text, _meta=meta)


def skill_ids(opened: Opened) -> list[str]:
    """Return the ids of the skills that the run may load, at most :data:`rye.limits.RUNTIME` ``.listed``."""
    ids = [each.id for each in opened.items.listed("skill") if opened.session.may("load", "skill", each.id)]
    return ids[: RUNTIME.listed]


def _skill_files(opened: Opened, item: UsableItem) -> skills.SkillFiles:
    attached = opened.items.attached("skill", item.id, item.sha256)
    return skills.SkillFiles(item, {skills.MAIN: item.text.encode(), **attached})


def listed_skill(opened: Opened, item_id: str) -> dict[str, Any] | None:
    """Return a skill's list entry, with little of the frontmatter if a person must be asked before the skill is read; None if the
    skill cannot be used, or is too large for some hosts."""
    try:
        found = _skill_files(opened, opened.items.read("skill", item_id, runs=False))
        if not skills.fits(found):
            return None
        proof = known_proof(opened.items.context, opened.project, "skill", found.item.id, found.item.version)
        whole = not opened.session.asks("load", "skill", item_id)
        return skills.entry(found, proof, whole=whole)
    except RyeError:
        return None


def skill_place(opened: Opened, uri: str) -> tuple[str, str] | None:
    """Split an address into a skill's id and a path in it; None if it is not in a skill that the run may load."""
    rest = uri.removeprefix(skills.SCHEME)
    if rest == uri:
        return None
    for item_id in skill_ids(opened):
        if rest == item_id or rest.startswith(f"{item_id}/"):
            return item_id, rest.removeprefix(item_id).removeprefix("/")
    return None


def directory(opened: Opened, item_id: str, folder: str) -> list[dict[str, str]] | None:
    """Return the entries of a skill's folder; None if the folder or the skill does not exist."""
    try:
        return skills.children(_skill_files(opened, opened.items.read("skill", item_id, runs=False)), folder)
    except RyeError:
        return None


def _read_skill_file(opened: Opened, uri: str, ask: Ask) -> types.TextResourceContents | types.BlobResourceContents:
    place = skill_place(opened, uri)
    if place is None:
        raise CallError("denied", f"{cut(uri, 200)!r} is not in a skill that this run may load.")
    item_id, path = place
    try:
        found = _skill_files(opened, opened.session.load_item("skill", item_id, ask=ask))
    except RyeError as error:
        raise from_rye_error(error, f"skill:{item_id}") from error
    data = found.files.get(path)
    if data is None:
        raise CallError("unknown-item", f"skill:{item_id} has no file {cut(path, 200)!r}.")
    kind = skills.media_type(path)
    try:
        return types.TextResourceContents(uri=uri, mime_type=kind, text=data.decode("utf-8"))
    except UnicodeDecodeError:
        return types.BlobResourceContents(uri=uri, mime_type=kind, blob=base64.b64encode(data).decode())


def input_values(declared: Iterable[InputDeclaration], name: str, typed: str) -> types.Completion:
    """Return the values of a directive's input: both booleans, and its default."""
    for each in declared:
        if each.name == name:
            default = () if each.default is None else (each.default,)
            booleans = ("true", "false") if each.type == "boolean" else ()
            return _fitting(dict.fromkeys((*default, *booleans)), typed)
    return _fitting((), typed)


def address_values(opened: Opened, name: str, typed: str, others: Mapping[str, str]) -> types.Completion:
    """Return ids of the knowledge that the run may load, or the version of the one already typed in ``others``."""
    listed = [each.id for each in opened.items.listed("knowledge") if opened.session.may("load", "knowledge", each.id)][
        : RUNTIME.listed
    ]
    if name == "id":
        return _fitting(listed, typed)
    if name != "version" or others.get("id") not in listed:
        return _fitting((), typed)
    try:
        version = opened.items.read("knowledge", others["id"], runs=False).version
    except RyeError:  # not offered: it cannot be used
        version = None
    return _fitting(() if version is None else (version,), typed)


def _fitting(values: Iterable[str], typed: str) -> types.Completion:
    """Return the values that begin with the typed text, then those that contain it, without regard to case."""
    wanted = typed.casefold()
    found = [each for each in values if wanted in each.casefold()]
    found.sort(key=lambda each: not each.casefold().startswith(wanted))  # stable: else in the order given
    return types.Completion(values=found[:_MOST], total=len(found), has_more=len(found) > _MOST)
