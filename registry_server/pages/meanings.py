"""What the words of pages mean, in the words of docs/reference/glossary.md: a test compares them. Pure data."""

from __future__ import annotations

MEANINGS = {
    "right": "a capability, or a tool of the agent program, that an item asks for or has",
    "tier": "how dangerous a right is: safe, write, elevated or unrestricted",
    "hook": "an action that a directive asks for when a condition holds; it runs only after approval",
    "fact": "something that a text mentions, such as a host or curl … | sh; reported as a note, a caution or an alarm",
    "namespace": "the first part of an id; it belongs to a keyset",
    "keyset": "the keys that may publish in a namespace, and how many of them must agree",
    "root": "the statement that names a registry's own keys",
    "log": "the append-only list of everything that was published",
    "entry": "one statement in the log, with its position",
    "head, checkpoint": "the signed size and root hash of the log",
    "statement": "one signed entry of the log: a release, keyset, yank, advisory or other",
    "yank": "to mark a release so that new installs avoid it; projects that have it keep it",
    "stage": "a release that waits until enough keys of its namespace have signed it",
}
