"""Who agrees to a plan: ``--yes``, an approval by name, or a person who is asked once (DESIGN §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import byte_approvals, late_facts, late_notice, not_accepted
from rye.consent.ask import Ask
from rye.consent.sorts import SORTS, approvals, row_of, some
from rye.describing.description import counted_document
from rye.errors import RyeError, UsageError
from rye.installation.install import new_lock
from rye.installation.plan import Consent, ItemChange, Plan, approvals_from_lock, labels_named, refused
from rye.project.declared_sources import FOLDER_PREFIXES
from rye.project.lock import Lock, comparison
from rye.project.lock_file import in_groups
from rye.text.lazy import lazy_module
from rye.workspace.installing.install_outcome import SetAside
from rye.workspace.installing.install_request import Agree, InstallRequest, ProposedText, Texts
from rye.workspace.installing.moved_texts import MovedTexts
from rye.workspace.trusting.acceptance import accepted_before, is_unmarked
from rye.workspace.trusting.asking import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rye.consent.agreement import Agreement, MovedRow
    from rye.installation.install import Prepared
    from rye.items.identity import Identity
    from rye.items.signed_release import Mention
    from rye.project.lock import LockedItem
    from rye.workspace.context import Context
    from rye.workspace.installing import text_changes
    from rye.workspace.installing.install_session import InstallSession
    from rye.workspace.installing.text_changes import TextChange
else:
    text_changes = lazy_module("rye.workspace.installing.text_changes")  # only for updates

_LISTED_LABELS = 8


class Terms(Struct, frozen=True):
    """What an installation may do without asking, what it asks about, and who agreed."""

    relied: frozenset[Ask]
    """What rye.lock approves and the run takes from there."""
    unseen: tuple[Ask, ...]
    """What of that, and of the project's changes, this user did not agree to. Only a person's yes covers it."""
    consent: Consent = Consent()
    moves: MovedTexts = MovedTexts()
    """What rye.lock has in place of what this user installed last."""

    def given_by(self, rows: Sequence[LockedItem]) -> frozenset[Ask]:
        """What this user agrees to where rye.lock gets these rows."""
        return (approvals(rows) - self.relied).union(self.unseen)


class Agreed(Struct, frozen=True, kw_only=True):
    """What follows from an installation's consent."""

    lock: Lock
    """The new rye.lock, with its approvals."""
    asks: frozenset[Ask]
    """What this user agreed to, to be remembered."""
    signers: frozenset[str]
    """The signers and sources whose items this user agreed to, in any project."""
    accepts: bool
    """Whether this checkout counts as accepted: not in a run that trusts others' approvals."""


def obtain_agreement(
    session: InstallSession, prepared: Prepared, notes: Sequence[str], moves: MovedTexts
) -> Agreed | None:
    """Show what is prepared, get consent, and return what follows from it; None in a dry run. ``moves``: what rye.lock moved, as
    it was told.

    Raises the errors of :func:`obtain_consent`, and RyeError ``policy-violation``.
    """
    request, plan = session.request, prepared.plan
    terms = _terms(session, prepared, moves)
    consent = obtain_consent(
        session.context,
        request,
        plan,
        notes,
        session.agree,
        terms.unseen,
        _texts(session, prepared, {one.row.identity: one for one in terms.moves.asked}),
        is_unmarked=is_unmarked(session.before.project),
        changed=_changed(session, prepared),
    )
    return None if request.dry_run else _agreed(session, prepared, replace(terms, consent=consent))


def _changed(session: InstallSession, prepared: Prepared) -> Mapping[Identity, TextChange]:
    """How much the texts of updated items change."""
    updated = [change for change in prepared.plan.effective if change.old is not None and change.new is not None]
    if not updated:
        return {}
    texts = {identity: item.data for identity, item in prepared.items.items()}
    return text_changes.text_changes(session.context.home, session.before.project, updated, texts)


def _texts(session: InstallSession, prepared: Prepared, moved: Mapping[Identity, MovedRow]) -> Texts:
    """The files of what the plan brings, in its order, and of what rye.lock ``moved``, with what they replace."""
    texts: list[ProposedText] = []
    for change in prepared.plan.changes:
        item = prepared.items.get(change.identity)
        was = change.old
        is_pending = was is not None and was.approved.is_pending and (change.needs_consent or change.forces_anew)
        is_new = change.action != "keep" or is_pending
        if item is None or not (is_new or change.identity in moved):
            continue
        name = f"{change.identity} {item.locked.version}"
        files = {"": item.data, **item.attached}
        before: Mapping[str, bytes] = {}
        if not is_new:
            was_agreed = moved[change.identity]
            before = text_changes.files_agreed(session.context.home, session.before.project, item.locked, was_agreed)
        elif was is not None:
            before = text_changes.files_before(session.context.home, session.before.project, change)
        texts += (ProposedText(name, path, data, before.get(path)) for path, data in files.items())
    return tuple(texts)


def _terms(session: InstallSession, prepared: Prepared, moves: MovedTexts) -> Terms:
    request, before, agreement = session.request, session.before, session.agreement
    if request.lock_use == "frozen":
        relied = approvals(in_groups(before.lock.items, request.without))
    else:
        relied = approvals_from_lock(prepared.plan)
    relied |= _forced_at_first_contact(session, prepared)
    changed = session.look_at_changes(prepared.rows, lambda row: prepared.items.get(row.identity))
    unseen = (*agreement.missing_from_lock(relied), *changed, *_late_asks(session, prepared, agreement), *moves.asks)
    return Terms(relied, unseen, moves=moves)


def _agreed(session: InstallSession, prepared: Prepared, terms: Terms) -> Agreed:
    frozen, trusted = session.request.lock_use == "frozen", session.agreement.trusts_lock
    lock = session.before.lock if frozen else new_lock(prepared, terms.consent, session.before.lock)
    rows = in_groups(lock.items, session.request.without)
    asks = terms.given_by(() if frozen else rows)
    signers = _signers(prepared.plan)
    if trusted:  # committers agreed to these, not this user
        signers -= {ask.text for ask in terms.relied if ask.sort in ("signer", "source")}
        return Agreed(lock=lock, asks=asks, signers=signers, accepts=False)
    return Agreed(lock=lock, asks=asks | byte_approvals(terms.moves.agreed(rows)), signers=signers, accepts=True)


def _signers(plan: Plan) -> frozenset[str]:
    """Who signed what the plan installs, and its sources. A folder's path means something else in another project."""
    rows = [change.new for change in plan.changes if change.new is not None]
    names = {row.signer for row in rows} | {row.registry for row in rows if row.source is not None}
    return frozenset(name for name in names if not name.startswith(FOLDER_PREFIXES))


def _forced_at_first_contact(session: InstallSession, prepared: Prepared) -> frozenset[Ask]:
    """What ``[overrides]`` forces in a project that this user never accepted: it came with the repository. Without a lock, every
    item is new, and ``--yes`` agrees to what is shown."""
    project, before = session.before.project, session.before
    if accepted_before(session.context.home, project) or (before.lock_bytes is None and session.context.assume_yes):
        return frozenset()
    return frozenset(ask for ask in approvals(prepared.rows) if ask.sort == "forced")


def _late_asks(session: InstallSession, prepared: Prepared, agreement: Agreement) -> tuple[Ask, ...]:
    """What newer rules find in rows that others approved: reported, or asked if this user never agreed to those bytes."""
    kept = [change for change in prepared.plan.changes if change.action == "keep" and change.old is not None]
    named = set(session.request.approved)
    rows = [c.old for c in kept if c.old is not None and named.isdisjoint((c.label, c.label.partition(":")[2]))]
    signed = {identity: item.signed for identity, item in prepared.items.items()}
    asks = agreement.late_in(rows, signed)
    late = late_facts(rows, signed)
    if late and not asks:
        session.context.warn(*late_notice(late))
    return asks


def obtain_consent(
    context: Context,
    request: InstallRequest,
    plan: Plan,
    notes: Sequence[str],
    agree: Agree,
    unseen: tuple[Ask, ...] = (),
    texts: Texts = (),
    *,
    is_unmarked: bool = False,
    changed: Mapping[Identity, TextChange] | None = None,
) -> Consent:
    """Show the plan through the face, and find out who agrees to it. In a dry run, only show it.

    ``unseen``: what rye.lock approves and this user has not agreed to; only a person's yes covers it. ``texts``: what a person
    can read before the answer. ``changed``: how much the texts of updated items change. ``is_unmarked``: whether the checkout has
    no mark, for the error.

    Raises RyeError ``project-not-accepted``, ``consent-needed`` or ``declined``, UsageError ``unknown-name`` or
    ``ambiguous``.
    """
    if request.dry_run:
        ask(context, agree, plan, notes, changed=changed)
        return Consent()
    if request.lock_use == "frozen":
        return _frozen_consent(context, request, plan, notes, agree, unseen, texts, is_unmarked)
    consent = Consent(yes=context.assume_yes, approved=frozenset(_label(plan, name) for name in request.approved))
    waiting = refused(plan, consent)
    said_yes = ask(context, agree, plan, notes, waiting, unseen, texts, changed)
    if not waiting and not unseen:
        return consent
    if said_yes:
        return Consent(person=True) if waiting else consent
    _refuse(context, unseen, is_unmarked)
    raise _consent_needed(request, consent, waiting)


def stopped(session: InstallSession, prepared: Prepared) -> tuple[SetAside, ...]:
    """What ``--yes`` does not let in, and what needs it, without asking anyone; nothing if a person can be asked, or if the rest
    would not be agreed to either.

    Raises UsageError ``unknown-name`` or ``ambiguous``.
    """
    context, plan = session.context, prepared.plan
    if context.interactive or not context.assume_yes:
        return ()
    approved = frozenset(_label(plan, name) for name in session.request.approved)
    stopping = refused(plan, Consent(yes=True, approved=approved))
    why = {change.identity: _why_not_yes(change) for change in stopping}
    new = why
    while new:  # what needs one of them cannot be installed without it
        gone = set(map(str, new))
        needing = (
            (row.identity, next((each for each in row.dependencies if each in gone), None)) for row in prepared.rows
        )
        new = {identity: f"needs {each}" for identity, each in needing if each is not None and identity not in why}
        why |= new
    return tuple(SetAside(change, why[change.identity]) for change in plan.changes if change.identity in why)


def _refuse(context: Context, unseen: tuple[Ask, ...], is_unmarked: bool) -> None:
    if context.interactive:
        raise RyeError("declined", "Nothing was changed.")
    if unseen:
        raise not_accepted(unseen, is_unmarked=is_unmarked)


def _frozen_consent(
    context: Context,
    request: InstallRequest,
    plan: Plan,
    notes: Sequence[str],
    agree: Agree,
    unseen: tuple[Ask, ...],
    texts: Texts,
    is_unmarked: bool,
) -> Consent:
    """Installing exactly the lock approves nothing: either the lock has all approvals, or the installation fails."""
    waiting = refused(plan, Consent())
    said_yes = ask(context, agree, plan, notes, unseen=() if waiting else unseen, texts=texts)
    if waiting:
        why = "; ".join(f"{change.label} {_why(change)}" for change in waiting)
        raise RyeError(
            "consent-needed",
            f"rye.lock does not approve everything in it, so nothing was changed: {why}.",
            f"`{request.command}` approves nothing. Run `rye install` where a person can agree, and commit rye.lock.",
            details={"changes": change_documents(waiting)},
        )
    if unseen and not said_yes:
        _refuse(context, unseen, is_unmarked)
    return Consent()


def _label(plan: Plan, name: str) -> str:
    """The label of the one change that an approval names."""
    found = labels_named(plan, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            "ambiguous", f"--approve {name} matches {', '.join(found)}.", f"Name one: --approve {found[0]}."
        )
    there = ", ".join(change.label for change in plan.effective[:_LISTED_LABELS]) or "nothing"
    raise UsageError(
        "unknown-name",
        f"--approve {name} matches nothing that would be installed.",
        f"To approve: {there}.",
        what="release",
    )


def _consent_needed(request: InstallRequest, consent: Consent, waiting: Sequence[ItemChange]) -> RyeError:
    """The error: what waits for a yes, why, and the command that gives it."""
    stopping = [change for change in waiting if change.stops]
    why = "; ".join(f"{change.label} {_why(change)}" for change in stopping or waiting)
    if stopping:
        named = [*sorted(consent.approved), *(change.label for change in stopping)]
        plain = "--yes " if consent.yes or len(waiting) > len(stopping) else ""
        arguments = " ".join(f"--approve {label}" for label in named)
        updated = next((change for change in stopping if change.old is not None), None)
        reads = f"`rye diff {updated.identity}` shows what changed" if updated is not None else "Read what it brings"
        hint = f"{reads}. Then approve it by name: {request.command} {plain}{arguments}"
    else:
        texts = [(c.old, c.new) for c in waiting if c.old is not None and c.new is not None and c.of("unsigned-text")]
        compares = next(filter(None, (comparison(old, new) for old, new in texts)), None)
        reads = f"`{compares}` shows what changed. " if compares is not None else ""
        hint = f"{reads}`{request.command} --yes` agrees to what is shown; on a terminal you are asked."
    details: dict[str, object] = {"changes": change_documents(waiting)}
    if any(change.of("customization-loss") for change in waiting):
        hint += "\nTo keep a customization, renew it for the new version: `rye override edit ID`, `rye overlay edit FORMULA`."
        return RyeError("customization-would-be-lost", f"Nothing was changed: {why}.", hint, details=details)
    return RyeError("consent-needed", f"Approval required, so nothing was changed: {why}.", hint, details=details)


def _why(change: ItemChange) -> str:
    reasons = ["is pulled in by an update"] if change.pulled_in else []
    for sort in SORTS:
        asks = [ask for ask in change.asks if ask.sort == sort.name]
        if asks and sort.name == "run" and _is_counted_now(change, asks):
            reasons.append(
                f"has files that Rye now counts as able to run ({some([ask.subject.where for ask in asks])})"
            )
        elif asks:
            reasons.append(sort.why(asks, change.old is not None))
    return " and ".join(reasons)


def _why_not_yes(change: ItemChange) -> str:
    """Why ``--yes`` does not let it in: its alarms alone, if it has any."""
    alarms = tuple(ask for ask in change.asks if row_of(ask).stops_always(ask))
    return _why(replace(change, asks=alarms) if alarms else change)


def _is_counted_now(change: ItemChange, asks: Sequence[Ask]) -> bool:
    """Whether nothing changed except what Rye counts as able to run."""
    was = change.old
    is_kept = change.action == "keep" and was is not None and not was.approved.is_pending
    return is_kept and all(ask.subject.is_counted_later for ask in asks)


def change_documents(changes: Iterable[ItemChange]) -> list[dict[str, object]]:
    """Changes as ``--json`` prints them."""
    return [_document(change) for change in changes]


def _document(change: ItemChange) -> dict[str, object]:
    asked = {
        sort.json: [sort.document(ask) for ask in change.asks if ask.sort == sort.name] for sort in SORTS if sort.json
    }
    new = change.new
    return {
        "action": change.action,
        "kind": change.identity.kind,
        "id": change.identity.id,
        "from": change.old.version if change.old else None,
        "to": new.version if new else None,
        "signer": new.signed_by if new else None,
        "source": new.source.as_json() if new and new.source else None,
        "signer_before": change.signer_before,
        "signer_changed": change.signer_changed,
        "signer_new": change.signer_new,
        "asks": asked.pop("asks"),
        "hooks": asked.pop("hooks"),
        "pulled_in": change.pulled_in,
        **({"forced": change.forced} if change.forced is not None else {}),
        "signer_unknown": change.signer_unknown,
        "agent_tools": asked.pop("agent_tools"),
        "executables": [run.where for run in change.of("run") if run.what == "attached-file"],
        "runs": asked.pop("runs"),
        "facts": [{**mention_document(m), "new": m in change.of("fact")} for m in change.mentions],
        **asked,
        "needs_approval": change.stops,
        **counted_document(change.description),
    }


def mention_document(mention: Mention) -> dict[str, object]:
    """One thing that an item mentions, as ``--json`` prints it."""
    return {
        "fact": mention.fact,
        "value": mention.value,
        "level": mention.level,
        "path": mention.path,
        "line": mention.line,
    }
