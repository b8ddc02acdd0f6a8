"""What an item's texts mention that matters for consent and policy (DESIGN 7.2). Pure.

The rules are slow to import, so they are imported only where facts are computed. Facts found in verified bytes are
remembered with the item's other verdicts (:func:`rye.installation.install.verify_chosen`).
"""

from __future__ import annotations

from collections.abc import Mapping

from rye.items.signed_release import Mention
from rye.text import facts
from rye.text.facts.decoding import readable_text


def mentions(files: Mapping[str, bytes]) -> tuple[Mention, ...]:
    """Return the cautions and alarms of one item, alarms first, each at its first position; then one note of each kind, for
    policies. ``files``: bytes by path."""
    texts = {path: readable_text(data) for path, data in files.items()}
    found: dict[object, Mention] = {}
    for fact in facts.find_facts(texts):
        key = fact.fact if fact.level == facts.NOTE else fact.key
        found.setdefault(key, Mention(fact.fact, fact.value, fact.level, fact.path, fact.line))
    return tuple(sorted(found.values(), key=lambda m: (-facts.severity(m.level), m.fact, m.path, m.line, m.value)))
