"""Which of several files of a source counts first."""

from __future__ import annotations

import re

_SET_ASIDE = re.compile(
    r"(?:^|/)(?:backups?|archived?|archives|deprecated|legacy|old|docs?|i18n|translations?|locales?|templates?|examples?|fixtures|tests?)/",
    re.IGNORECASE,
)
"""Folders whose items count only if no other has their name."""


def rank(path: str) -> tuple[bool, int, str]:
    """Return the order in which files count that would have the same name, for ``rye adopt`` as well."""
    return _SET_ASIDE.search(path) is not None, path.count("/"), path
