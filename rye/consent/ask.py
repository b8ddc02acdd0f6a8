"""One thing that needs a yes, and the texts by which it is remembered."""

from __future__ import annotations

from functools import total_ordering
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rye.items.consented import HookAction, Run
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json
else:
    json = lazy_module("json")  # only for text with unusual characters


@total_ordering
class Ask(Struct, frozen=True, eq=False):
    """One thing that needs a yes. Two are the same if item, sort and text are."""

    item: str
    """``kind:id``; for a signer the namespace, since it signs all of its items; for a grant the tool or table."""
    sort: str
    """A name of :data:`rye.consent.sorts.SORTS`."""
    text: str
    """The pattern; the text of :func:`hook_text`, :func:`tool_texts` or :func:`run_text`; ``FACT VALUE``; the key's
    fingerprint; the range that a version is forced to; ``TARGET FIELD SHA-256`` that ``--allow-widening`` agreed to; or a
    customization's file with its hash."""
    subject: Any = None
    """What it was made from, e.g. a HookAction, for those who show or compare it."""

    @property
    def line(self) -> str:
        """The stored form: one line of JSON."""
        if is_plain(self.item + self.text):
            return f'["{self.item}", "{self.sort}", "{self.text}"]'
        return json.dumps([self.item, self.sort, self.text], ensure_ascii=True)

    def as_json(self) -> dict[str, str]:
        """As an error's details and ``--json`` print it."""
        return {"item": self.item, "what": self.sort, "value": self.text}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ask) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Ask) -> bool:
        return self._key < other._key

    @property
    def _key(self) -> tuple[str, str, str]:
        return self.item, self.sort, self.text


def is_plain(text: str) -> bool:
    """Whether JSON writes the text as it is, between quotation marks."""
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def hook_text(hook: HookAction) -> str:
    """A hook's condition and exact action, on one line. The text is unambiguous: a part that could be read as another part
    is quoted."""
    inputs = "".join(f" {_word(name)}={json.dumps(value, ensure_ascii=False)}" for name, value in hook.inputs)
    when = json.dumps(hook.when) if ": execute " in hook.when or not hook.when.isprintable() else hook.when
    return f"when {when}: execute {_word(hook.item_type)} {_word(hook.item_id)}{inputs}"


def _word(text: str) -> str:
    plain = text.isascii() and text.replace("_", "").replace("-", "").replace("/", "").replace(".", "").isalnum()
    return text if plain else json.dumps(text)


def run_text(run: Run) -> str:
    """What can run, where, how, and half of its hash, on one line."""
    return f"{run.what} {run.where}: {run.action} (sha256 {run.sha256[:32]})"


def tool_texts(names: tuple[str, ...], limits: tuple[str, ...]) -> list[str]:
    """Agent tools with their restrictions. Fewer restrictions make a different text."""
    restricted = f" ({'; '.join(limits)})" if limits else ""
    return [f"{name}{restricted}" for name in names]
