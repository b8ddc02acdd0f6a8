"""``rye trust accept``: going on with a namespace whose lost keys the registry's owners replaced (protocol.md, rye.keyset/v1)."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.registry.registry_access import configured, open_registry, show_document
from rye.errors import RyeError


@command("accept")
@click.argument("namespace")
@click.option("--statement", metavar="HASH", help="Accept only this recovery (the hash that the refusal named).")
@click.pass_obj
def accept(session: Session, namespace: str, statement: str | None) -> None:
    """Accept that NAMESPACE has new keys after a recovery. Ask its owners first whether they lost the old ones."""
    from rye.registry.protocol.lines import write_time
    from rye.registry.trust.trust_error import TrustError

    accepted: list[dict[str, object]] = []
    with open_registry(session, configured(session).of(namespace)) as client:
        while True:
            try:
                chain = client.keysets([namespace])[namespace]
            except TrustError as error:
                if error.code != "recovery-unaccepted":
                    raise
                found = str(error.details["statement"])
                old, new = _fingerprints(error.details["old_keys"]), _fingerprints(error.details["new_keys"])
                if statement not in (None, found):
                    raise RyeError(
                        "other-recovery",
                        f"The recovery of {namespace!r} that waits is {found}, not {statement}.",
                        f"Compare it again; `rye trust accept {namespace} --statement {found}` accepts that one.",
                    ) from error
                _show(session, namespace, old, new)
                if session.interactive and not session.console.confirm("Trust the new keys?"):
                    raise RyeError("declined", f"The recovery of {namespace!r} was not accepted.") from error
                client.accept_recovery(found)
                accepted.append({"statement": found, "old_keys": old, "new_keys": new})
            else:
                break
        pending = chain.pending(client.head.snapshot.time)
    if not accepted:
        raise _nothing(namespace, write_time(pending.keyset.recovery) if pending and pending.keyset.recovery else None)
    show_document(
        session,
        {"namespace": namespace, "accepted": accepted},
        f"accepted the new keys of {namespace}: {', '.join(accepted[-1]['new_keys'])}",  # type: ignore[arg-type]
    )


def _nothing(namespace: str, pending: str | None) -> RyeError:
    if pending is not None:
        return RyeError(
            "recovery-pending",
            f"The recovery of {namespace!r} takes effect at {pending}; until then its old keys are in force.",
            "Ask its owners whether it is theirs. They can object until then: `rye namespace object NAMESPACE`.",
        )
    return RyeError("nothing-to-accept", f"No recovery of {namespace!r} waits for you.", "There is nothing to do.")


def _show(session: Session, namespace: str, old: list[str], new: list[str]) -> None:
    session.console.say(f"The registry's owners gave the namespace {namespace!r} to new keys.", "strong")
    for fingerprint in old:
        session.console.say(f"  old key  {fingerprint}", "removed")
    for fingerprint in new:
        session.console.say(f"  new key  {fingerprint}", "added")
    session.console.say("Whoever holds the new keys publishes under this name from now on.")


def _fingerprints(vkeys: object) -> list[str]:
    from rye.registry.protocol.notes import VerifierKey
    from rye.signing.keys import PublicKey

    assert isinstance(vkeys, list)
    return [PublicKey(VerifierKey.from_vkey(str(vkey)).key).fingerprint for vkey in vkeys]
