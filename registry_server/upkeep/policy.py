"""The policy for everybody who joined the registry's owners: a file with a ``[policy]`` table becomes a signed statement."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime, time, timedelta

from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.upkeep.founding import read_draft
from rye.errors import RyeError
from rye.permissions.containment import Budget, TooComplex, find
from rye.permissions.policy_table import TARGETS, OrganizationPolicyReader, PolicyTable, parse_age
from rye.registry.protocol import statements
from rye.registry.protocol.cosignatures import CosignerKey
from rye.registry.protocol.statements import OrganizationPolicy
from rye.registry.protocol.statements.policy import rules_of
from rye.registry.trust.policies import read_organization_policy
from rye.text.toml_keys import has_long_key

LONGEST = timedelta(days=400)
"""Clients stop when a policy expires; one that never does could never be withdrawn from a machine that is offline."""
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_OWN = frozenset(("expires", "contact"))


def is_statement(text: str) -> bool:
    """Whether a file is a drafted or signed statement, and not a table."""
    return text.startswith(f"{OrganizationPolicy.TITLE}\n")


def plan(ledger: Ledger, text: str, now: datetime, source: str) -> OrganizationPolicy:
    """Draft the statement after the newest one. ``text``: a TOML file with ``[policy]``, its words and ``expires``.

    Raises RyeError ``bad-manifest`` and the grammar's.
    """
    reader = OrganizationPolicyReader(source)
    try:
        if has_long_key(text):
            raise reader.fail("a key has too many parts.", "No key of [policy] has more than three.")
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise reader.fail(f"not valid TOML: {error}.", "Fix that line.") from None
    reader.known(document, "", {"policy"})
    table = reader.table(document, "policy")
    when = now.astimezone(UTC).replace(microsecond=0)
    expires = _expires(reader, table.get("expires"), when)
    words = {key: value for key, value in table.items() if key not in _OWN}
    found = reader.organization_policy(words, ledger.origin)
    _require_effect(reader, found)
    for vkey in found.required_witnesses:
        CosignerKey.from_vkey(vkey)
    newest = ledger.newest_policy()
    before = read_organization_policy(newest)[1] if newest is not None else None
    policy = OrganizationPolicy(
        ledger.origin,
        number=1 if before is None else before.number + 1,
        previous=None if before is None else before.sha256(),
        time=when if before is None else max(when, before.time),
        expires=expires,
        contact=reader.text(table, "policy", "contact"),
        rules=rules_of(words),
    )
    policy.text()  # raises if the grammar does not allow it
    return policy


def publish(sequencer: Sequencer, text: str) -> tuple[OrganizationPolicy, int]:
    """Append a signed policy; return it and its position. Raises RyeError ``not-signed``, ``wrong-statement``, and the log's."""
    _, note = read_draft(text)
    if note is None:
        raise RyeError("not-signed", "The policy is not signed.", "Each owner signs it: rye-registry root sign FILE")
    statement = statements.parse(note.text)
    if not isinstance(statement, OrganizationPolicy):
        raise RyeError(
            "wrong-statement",
            f"The file contains another statement: {statement.TITLE}.",
            "Create one: rye-registry policy publish FILE --draft DRAFT",
            what="policy",
        )
    outcome = sequencer.append([[Candidate(note, statement)]])[0]
    if not isinstance(outcome, Receipt):
        raise outcome
    return statement, outcome.results[0].position


def _require_effect(reader: OrganizationPolicyReader, table: PolicyTable) -> None:
    """Require that no rule is without effect because of a typo: each pattern matches an action, each program is known, and each
    signer is a fingerprint. Raises RyeError ``bad-manifest``."""
    budget = Budget()
    for pattern in (*(table.allow or ()), *table.forbid, *table.risk, *table.approval):
        try:
            witness = find([pattern], (), budget, real_actions=True)
        except TooComplex:
            witness = None
        if witness is None:
            hint = 'Write it like "rye.execute.tool.acme.shell.*", with dots and in lower case.'
            raise reader.fail(f"[policy] {pattern[:80]!r} matches no action.", hint)
    for name in table.forbidden_targets:
        if name not in TARGETS:
            hint = f"Programs: {', '.join(TARGETS)}."
            raise reader.fail(f"[policy] forbid-targets {name[:80]!r} is not an agent program.", hint)
    for fingerprint in table.required_signers:
        if _FINGERPRINT.fullmatch(fingerprint) is None:
            hint = "`rye keys list` and `rye info ID` show fingerprints: SHA256: and 43 characters."
            raise reader.fail(f"[policy] required-signers {fingerprint[:80]!r} is not a fingerprint.", hint)


def _expires(reader: OrganizationPolicyReader, value: object, now: datetime) -> datetime:
    """``expires``: an age from now, or a day, which is the last one."""
    age = parse_age(value) if isinstance(value, str) else None
    if age is not None:
        found = now + age
    elif isinstance(value, datetime):
        found = (
            value.astimezone(UTC).replace(microsecond=0) if value.tzinfo else value.replace(tzinfo=UTC, microsecond=0)
        )
    elif hasattr(value, "toordinal"):
        found = datetime.combine(value, time(23, 59, 59), UTC)  # type: ignore[arg-type]
    else:
        hint = "Clients that see no newer policy by then stop. Write 14d, or a day: 2027-01-31."
        raise reader.fail(f"[policy] expires = {value!r} is not a time.", hint)
    if not now < found <= now + LONGEST:
        raise reader.fail(
            f"[policy] expires is {found:%Y-%m-%d}, which is not within {LONGEST.days} days from now.",
            "Choose a few weeks, and publish again before it ends.",
        )
    return found
