"""Files of the checkout that the installed program has too: this project's own items, and its pages."""

from __future__ import annotations

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[1]
_COPY = Path(__file__).resolve().parent / "from_checkout"
"""Made by the wheel (``pyproject.toml``)."""


def shipped(path: str) -> Path | None:
    """Return where a file or folder is, given its path from the root of the repository; None if this program came without it."""
    if (_COPY / path).exists():
        return _COPY / path
    in_checkout = (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / path).exists()
    return _CHECKOUT / path if in_checkout else None


def page_place(page: str) -> str:
    """Return where a reader finds a page, given its path from the root of the repository: there, or in the installed program."""
    return str(_COPY / page) if (_COPY / page).exists() else page
