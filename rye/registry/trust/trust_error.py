"""The codes of all acceptance rules that can be broken, with the advice for each.

A :class:`TrustError` always has one of these codes; documents and tests refer to rules by them. Input that does not
parse has the codes of :mod:`rye.registry.protocol.notes`, :mod:`~rye.registry.protocol.lines` and
:mod:`~rye.registry.protocol.wire`; tiles have those of :mod:`rye.registry.protocol.tiles`.
"""

from __future__ import annotations

from rye.errors import RyeError

_MIRROR = "Do not install from it. Try the registry's own address, or ask its operator; `rye log verify` shows details."
_ALARM = (
    "Do not install from it. `rye log evidence` shows both signed heads, as proof. Tell the operator and other users."
)
_LOCKED = (
    "Someone probably edited rye.lock: `git log -p rye.lock` shows who. Restore it, then run `rye install`. "
    "If the file is unchanged, the registry has withdrawn something that it signed: install nothing from it, and send its "
    "operator the two signed heads that `rye log watch` keeps."
)
_ROLLED_BACK = (
    "Use nothing until it shows the newest policy again. Ask the organization's administrators: a proxy or a mirror may be out "
    "of date, or someone took the policy away."
)
_PUBLISHER = (
    "Do not install it. Ask the publisher whether they made the change. The registry must not serve such a statement."
)

RULES: dict[str, str] = {
    # roots
    "root-fingerprint": "Stop: this is not the registry you were told of, or the fingerprint was mistyped. Ask its operator.",
    "root-origin": "The address serves another registry than the pinned one. Check it; `rye registry remove ADDRESS` unpins it.",
    "root-number": _MIRROR,
    "root-chain": _MIRROR,
    "root-time": _MIRROR,
    "root-signatures": _MIRROR,
    "root-takeover": "The owners of the root that you trust did not sign the next one. Ask them before you continue.",
    "root-expired": "The registry's owners must sign a new root (`rye-registry root renew`). Until then nothing can be trusted.",
    # head
    "checkpoint-origin": _MIRROR,
    "checkpoint-signature": _MIRROR,
    "snapshot-kind": _MIRROR,
    "snapshot-origin": _MIRROR,
    "snapshot-signature": _MIRROR,
    "snapshot-proof": _MIRROR,
    "snapshot-root": _MIRROR,
    "snapshot-map": _MIRROR,
    "snapshot-time": _ALARM,
    "snapshot-future": "Check this machine's clock, then the registry's.",
    "clock-step": _ALARM,
    "clock-signer": _ALARM,
    "policy-foreign": _MIRROR,
    "policy-signer": _ALARM,
    "policy-chain": _ALARM,
    "policy-rollback": _ROLLED_BACK,
    "head-empty": _MIRROR,
    "head-stale": "Check this machine's clock. A mirror may be out of date: try the registry's own address.",
    "head-frozen": "The registry has shown the same head for too long. Check this machine's clock, then ask the operator.",
    "head-rollback": _ALARM,
    "head-fork": _ALARM,
    "head-inconsistent": _ALARM,
    # witnesses
    "cosigned-head": _MIRROR,
    "cosignature-wrong": _MIRROR,
    "witness-quorum": "Wait for the witnesses, or ask the operator: `rye registry show` says who cosigned. Nothing was changed.",
    "witness-frozen": "Check this machine's clock, then ask the operator why witnesses no longer cosign. Nothing was changed.",
    "not-cosigned": "Run the command again when enough witnesses have cosigned; `rye registry show` says how far they are.",
    # index
    "map-hash": _MIRROR,
    "map-place": _MIRROR,
    "map-missing": _MIRROR,
    "index-hash": _MIRROR,
    "index-size": _MIRROR,
    "index-missing": _MIRROR,
    "index-statement": _MIRROR,
    "index-foreign": _MIRROR,
    "index-position": _MIRROR,
    "leaf-mismatch": _ALARM,
    "tile-missing": _MIRROR,
    # keysets
    "namespace-unclaimed": _PUBLISHER,
    "namespace-vanished": _ALARM,
    "keyset-number": _PUBLISHER,
    "keyset-chain": _PUBLISHER,
    "keyset-signatures": _PUBLISHER,
    "keyset-takeover": _PUBLISHER,
    "keyset-revocations": _PUBLISHER,
    "keyset-fork": _ALARM,
    "recovery-signatures": _PUBLISHER,
    "recovery-pending": _PUBLISHER,
    "recovery-unaccepted": "Ask the owners whether they lost their keys. If so: `rye trust accept NAMESPACE`.",
    # statements about items
    "statement-unclaimed": _PUBLISHER,
    "statement-keyset": _PUBLISHER,
    "statement-signer": _PUBLISHER,
    "advisory-signer": _PUBLISHER,
    "signer-revoked": "Choose a release that another key signed: `rye info ID` lists them.",
    "release-taken-down": "Choose another version: `rye info ID` lists them. The registry's operator can tell you more.",
    "takedown-signer": _ALARM,
    "takedown-foreign": _ALARM,
    "takedown-vanished": _ALARM,
    "release-repeated": _ALARM,
    "release-unknown": _PUBLISHER,
    "release-vanished": _LOCKED,
    "release-changed": _LOCKED,
    "release-held": "Choose another version, or ask the operator of the registry that holds it back.",
    "release-oversized": "Choose another version, or ask the publisher to make the item smaller.",
    # bytes
    "blob-missing": "Try the registry's own address: a mirror can be incomplete.",
    "blob-size": _MIRROR,
    "blob-hash": _MIRROR,
    "manifest-mismatch": _PUBLISHER,
    # items (:mod:`rye.verified.release`)
    "item-misplaced": _PUBLISHER,
    "item-invalid": _PUBLISHER,
    "item-unsigned": _PUBLISHER,
}
"""Code → advice for the person who sees the error."""


class TrustError(RyeError):
    """An acceptance rule was broken, so nothing that depends on it can be used.

    ``details`` contain evidence, if there is any.
    """

    def __init__(self, code: str, message: str, **details: object):
        super().__init__(code, message, RULES[code], details=details)
