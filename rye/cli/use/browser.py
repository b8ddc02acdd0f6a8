"""The person's browser."""

from __future__ import annotations

import webbrowser


def open_page(address: str) -> bool:
    """Open an address in it; False where there is none, or it does not start."""
    try:
        return webbrowser.open_new_tab(address)
    except (webbrowser.Error, OSError):
        return False
