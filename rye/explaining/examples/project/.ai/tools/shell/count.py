"""Counts the words of a text."""

__version__ = "0.1.0"
__category__ = "shell"
__tool_description__ = "Counts the words of a text"


def execute(params: dict[str, str]) -> dict[str, int]:
    """``params``: ``text``."""
    return {"words": len(params["text"].split())}
