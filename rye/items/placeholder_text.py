"""The placeholder text that ``rye new`` writes. An item that still contains some of it is not ready to be published.

One table for all kinds. A test checks it against the templates: each template has one of its phrases, and each phrase is in one.
"""

from __future__ import annotations

from rye.text.diagnostics import Diagnostic

PLACEHOLDER_TEXT = "placeholder-text"
"""The warning's code."""
PHRASES = (
    # directive
    "Say here what ",
    "State here what must never happen",
    # agent
    "the situation it is made for comes up",
    "One sentence about what this agent is for",
    "Say what to do, in which order, and when the work is done",
    "- Say what must not happen.",
    # formula
    "What this workflow achieves",
    # knowledge
    "What an agent should know.",
    # role
    "Say it here in one line.",
    "Say what you look at and what you answer for.",
    "Say what this role does, point by point.",
    "Say what this role never does.",
    # skill
    "What the skill does, and when an agent should use it.",
    "Say what to do first.",
    # tool
    "What the tool does, in one sentence",
    # bundle
    "What these items do together",
)
_LISTED = 10


def placeholder_text(text: str) -> tuple[Diagnostic, ...]:
    """Return a ``placeholder-text`` warning for each line that still has a template's text, up to a limit."""
    if not any(phrase in text for phrase in PHRASES):
        return ()
    diagnostics = []
    for number, line in enumerate(text.split("\n"), 1):
        phrase = next((phrase for phrase in PHRASES if phrase in line), None)
        if phrase is not None:
            shown = phrase.removeprefix("- ").strip().removesuffix(".")
            message = f"This is still the template's text: {shown!r}."
            hint = "Replace it with your own words, or delete it."
            diagnostics.append(Diagnostic("warning", PLACEHOLDER_TEXT, message, number, hint=hint))
    return tuple(diagnostics[:_LISTED])
