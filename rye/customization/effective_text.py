"""The effective text of an item: its text with the overrides applied, after checking the result of each. With it the effective
files of a skill (:mod:`rye.customization.effective_files`): overrides of attached files are applied in the same order.

The files are merged one after another, the user's first. A file is applied completely or not at all. It is *refused*, and
leaves the text unchanged, if any of these is true:

* it is rejected, or one of its directives is invalid (DECISIONS Overrides 5, 16);
* the result no longer conforms: it does not parse, or has an error that the text before did not have (a hidden code point
  is such an error);
* it would rename the item: an override changes what an item says, never which item it is;
* it would widen what the item may do or use, or add a hook, beyond what its author signed or an earlier file left of that, and
  no policy allows it.

These are pure functions: the caller finds the files, reads the policies and passes the date.

An override *widens* if it lets an item do more, execute more, or cost more, than its author signed (DESIGN §7).

Capabilities are compared exactly, as the sets of strings that their patterns match. A hook with a different condition or
different inputs is a different hook. If a comparison is too complex to finish, it counts as widened. Tools of the agent program
are compared with their restrictions, as in an update: a restriction that is lifted is a tool that is gained. A limit that is
raised or gone is wider, so of all limits the least counts. Nothing says which model costs more or does more, so another tier or
model and an added fallback are wider, whichever they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rye.customization.effective_files import Tree, apply_files
from rye.customization.item_overrides import CONTENT_SUFFIX, FILES_SUFFIX, OverrideSource
from rye.customization.merge import MergeResult, merge
from rye.customization.provenance import Origin, file_lines, merged_lines, origin_of, placed_message
from rye.items.agent_tools import widened
from rye.items.consented import HookAction
from rye.items.kinds import KINDS
from rye.items.location import Location
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.permissions.containment import diff
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import layout_of
from rye.text import content
from rye.text.diagnostics import Diagnostic, has_errors, in_order
from rye.text.display import visible

ReadText = Callable[[str], Reading[object]]


class Applied(Struct, frozen=True):
    """The result of merging one overrides file. A diagnostic's line is a line of the overrides file."""

    source: OverrideSource
    result: MergeResult
    diagnostics: tuple[Diagnostic, ...]

    @property
    def refused(self) -> bool:
        """Whether the file was not applied, because it has errors."""
        return has_errors(self.diagnostics)


class Effective(Struct, frozen=True, kw_only=True):
    """The effective ``text`` and its ``reading``, with every overrides file applied that was not refused."""

    base: str
    text: str
    reading: Reading[object]
    files: tuple[Applied, ...]
    origins: tuple[Origin, ...] = ()
    """Where each line of ``text`` was written (DECISIONS Directives 20)."""
    published: Metadata | None = None
    """What ``base`` says about itself."""
    prompt: str | None = None
    """What of ``text`` an agent reads, without inputs filled in. None: not asked for, or ``text`` does not parse."""
    base_tree: Tree = {}
    """The attached files as published."""
    tree: Tree = {}
    """The attached files with every overrides file applied that was not refused."""

    @property
    def changes_files(self) -> bool:
        """Whether any overrides file is about attached files."""
        return any(file.source.contents is not None for file in self.files)

    def written_at(self, path: str) -> str | None:
        """Where the content of an attached file was written, as shown to people, if an override replaced or added it."""
        file = self.tree.get(path)
        for applied in reversed(self.files):
            data = applied.source.contents.files.get(path) if applied.source.contents is not None else None
            if file is not None and data is not None and file.data == data and not applied.refused:
                return f"{applied.source.shown.removesuffix(FILES_SUFFIX)}{CONTENT_SUFFIX}/{path}"
        return None

    @property
    def refused(self) -> tuple[Applied, ...]:
        """The files that were not applied."""
        return tuple(file for file in self.files if file.refused)


def reader(location: Location, shown: str, options: ReadOptions) -> ReadText:
    """A function that reads a text as the item at ``location``, by the rules of its kind and those for all content."""
    kind = KINDS[location.kind]

    def read(text: str) -> Reading[object]:
        decoded = content.decode(text.encode("utf-8"))
        if decoded.text is None:
            return Reading(None, None, tuple(decoded.diagnostics))
        reading = kind.load().read(Source(decoded.text, shown, location.name, location.category), options)
        return replace(reading, diagnostics=in_order((*decoded.diagnostics, *reading.diagnostics)))

    return read


def unsigned(text: str, location: Location, file_name: str) -> str:
    """An item's text without its signature line: the signature would not cover the merged text."""
    return unsigned_text(text, layout_of(location.kind, file_name))


def effective(
    base: str,
    files: Sequence[OverrideSource],
    read: ReadText,
    *,
    name: str,
    version: str | None = None,
    file_name: str = "the item",
    today: date | None = None,
    widening_allowed: bool = False,
    origins: tuple[Origin, ...] = (),
    attached: Tree | None = None,
    prompt: Callable[[object, str], str] | None = None,
) -> Effective:
    """Apply ``files`` in order to ``base`` (LF, unsigned) and to the ``attached`` files.

    ``name`` and ``version``: the item's, used if its frontmatter has none; an overrides file's 'agent' must equal the name.
    ``today``: the date for the check of review dates; None: no check. ``origins``: where each line of ``base`` was written;
    empty: ``base`` is the text of one file. ``prompt``: gives what an agent reads of a parsed text.
    """
    original = read(base)
    text, reading = base, original
    origins = origins or file_lines(file_name, base, base)
    tree: Tree = attached or {}
    applied: list[Applied] = []
    for source in files:
        if source.contents is not None:
            own_name = file_name.rpartition("/")[2]
            of_files = apply_files(attached or {}, tree, source.text, source.contents, own_name)
            tree = of_files.tree if of_files.tree is not None else tree
            applied.append(
                Applied(source, MergeResult(text, of_files.diagnostics, of_files.steps), of_files.diagnostics)
            )
            continue
        result = merge(
            text,
            source.text,
            base_name=name,
            base_version=version or (original.metadata.version if original.metadata else None),
            overrides_name=source.shown,
            base_file=file_name,
            today=today,
        )
        found = list(result.diagnostics)
        if result.output is not None and not has_errors(found):
            merged = reading if result.output == text else read(result.output)
            places = merged_lines(origins, source.shown, result.origins)
            found += _new_errors(reading, merged, places, source.shown)
            found += _renamed(original, merged)
            if not widening_allowed and merged is not reading:
                found += _wider(original, reading, merged, [file.source.shown for file in applied if not file.refused])
            if not has_errors(found):
                text, reading, origins = result.output, merged, places
        applied.append(Applied(source, result, tuple(found)))
    return Effective(
        base=base,
        text=text,
        reading=reading,
        files=tuple(applied),
        origins=origins,
        published=original.metadata,
        prompt=prompt(reading.value, text) if prompt is not None and reading.value is not None else None,
        base_tree=attached or {},
        tree=tree,
    )


def _wider(
    original: Reading[object], before: Reading[object], merged: Reading[object], earlier: Sequence[str]
) -> list[Diagnostic]:
    """What ``merged`` may do, use or cost beyond the item as published, or else beyond what the ``earlier`` files left of it: a
    project takes back nothing that its user took away."""
    wider = [*widenings(original.metadata, merged.metadata), *more_to_use(original.value, merged.value)]
    if wider or before is original:
        return wider
    undone = f"It would undo what {' and '.join(map(visible, earlier))} says. "
    again = [*widenings(before.metadata, merged.metadata), *more_to_use(before.value, merged.value)]
    return [replace(finding, message=f"{undone}{finding.message}") for finding in again]


def _renamed(original: Reading[object], merged: Reading[object]) -> list[Diagnostic]:
    old, new = original.metadata, merged.metadata
    if old is None or new is None or old.name == new.name:
        return []
    message = f"It would rename the item from {visible(old.name)!r} to {visible(new.name)!r}."
    return [Diagnostic("error", "override-renames", message, hint="Leave the name as it is.")]


def _new_errors(
    before: Reading[object], after: Reading[object], origins: tuple[Origin, ...], overrides: str
) -> list[Diagnostic]:
    """Errors of the merged text that the text before did not have, as findings about the overrides file.

    An error on a line that came from another file names that file and line (DECISIONS Directives 20).
    """
    had = Counter(finding.code for finding in before.diagnostics if finding.severity == "error")
    errors: list[Diagnostic] = []
    for finding in after.diagnostics:
        if finding.severity != "error":
            continue
        if had[finding.code] > 0:
            had[finding.code] -= 1
            continue
        message, line = f"The result would not conform: {placed_message(finding.message, origins)}", None
        if finding.line is not None:
            origin = origin_of(origins, finding.line)
            if origin.shown == overrides:
                line = origin.line
            else:
                message += f" ({visible(origin.shown)}:{origin.line})"
        errors.append(Diagnostic("error", finding.code, message, line, hint=finding.hint))
    if before.value is not None and after.value is None and not errors:
        errors.append(Diagnostic("error", "does-not-parse", "The result could not be read."))
    return errors


_ALLOWED = "Only rye.toml and your own policy.toml together allow this: allow-override-widening = true in [policy]."


def more_to_use(base: object, effective: object) -> tuple[Diagnostic, ...]:
    """One error for each limit of an item's value that is higher than in ``base`` or gone, for each restriction that is gone or
    lacks one of its words, and for each choice of a model that is new or different. A choice that is gone leaves the default of
    who runs it, which is another choice."""
    diagnostics: list[Diagnostic] = []
    old, new = _of(base, "maximums"), _of(effective, "maximums")
    for name, least in old.items():
        if name not in new or new[name] > least:
            now = f"from {least} to {new[name]}" if name in new else f"of {least} away"
            verb = "raise" if name in new else "take"
            message = f"It would {verb} the limit on {visible(name)} {now}."
            diagnostics.append(Diagnostic("error", "override-widens", message, hint=_ALLOWED))
    kept = _of(effective, "restrictions")
    for name, words in _of(base, "restrictions").items():
        if not words <= kept.get(name, frozenset()):
            message = f"It would lift the restriction {visible(name)}."
            diagnostics.append(Diagnostic("error", "override-widens", message, hint=_ALLOWED))
    chosen, wanted = _of(base, "model_choice"), _of(effective, "model_choice")
    for name in sorted({*chosen, *wanted}):
        if name in _FALLBACKS and name not in wanted:
            continue
        if chosen.get(name) != wanted.get(name):
            before, after = (visible(str(each.get(name, "none"))) for each in (chosen, wanted))
            message = f"It would change the model's {visible(name)} from {before} to {after}."
            diagnostics.append(Diagnostic("error", "override-widens", message, hint=_ALLOWED))
    return tuple(diagnostics)


_FALLBACKS = ("fallback", "fallback_id")
"""Without one, a run does less."""


def _of(value: object, name: str) -> Mapping[str, Any]:
    """``maximums``, ``restrictions`` or ``model_choice`` of an item's value; empty for a kind without."""
    found: Mapping[str, Any] = getattr(value, name, {})
    return found


def widenings(base: Metadata | None, effective: Metadata | None) -> tuple[Diagnostic, ...]:
    """One error for each capability pattern that ``base`` does not cover, each tool of the agent program, and each hook or
    program that it does not have."""
    if effective is None or not (effective.capabilities or effective.hooks or effective.agent_tools or effective.runs):
        return ()

    hint = _ALLOWED
    diagnostics: list[Diagnostic] = []
    old = base.capabilities if base is not None else ()
    for change in diff(old, effective.capabilities).widened:
        shown = f", for example {visible(change.witness)}" if change.witness is not None else ""
        message = f"It would widen what the item may do: {visible(change.pattern)}{shown}."
        diagnostics.append(Diagnostic("error", "override-widens", message, hint=hint))
    for tool in widened(base.agent_tools if base is not None else None, effective.agent_tools):
        message = f"It would widen which tools of the agent program the item may use: {visible(tool)}."
        diagnostics.append(Diagnostic("error", "override-widens", message, hint=hint))
    for run in set(effective.runs) - set(base.runs if base is not None else ()):
        message = f"It would have an agent program start something: {visible(run.where)}: {visible(run.action)}."
        diagnostics.append(Diagnostic("error", "override-widens", message, hint=hint))
    more = Counter(effective.hooks) - Counter(base.hooks if base is not None else ())
    for hook in more:
        message = f"It would add a hook: {_action(hook)}."
        diagnostics.append(Diagnostic("error", "override-adds-hook", message, hint=hint))
    return tuple(diagnostics)


def _action(hook: HookAction) -> str:
    when = f" when {visible(hook.when)}" if hook.when else ""
    return f"execute {visible(hook.item_type)} {visible(hook.item_id)}{when}"
