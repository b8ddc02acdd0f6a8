"""How a statement appears in the columns of the tables: its name, that name folded, and digests of text and content.

Pure.
"""

from __future__ import annotations

import hashlib

from rye.items.identity import fold
from rye.registry.protocol.statements import ItemStatement, Keyset, Release
from rye.registry.protocol.wire import index_name


def name_of(statement: Keyset | ItemStatement) -> str:
    """Return the name whose index contains the statement."""
    return index_name(statement.namespace if isinstance(statement, Keyset) else statement.identity)


def content_digest(release: Release) -> str:
    """Return the digest that two releases with the same files, under the same paths, have in common."""
    content = [release.file.write(), *(entry.write() for entry in release.attached)]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()


def folded(name: str) -> str:
    """The name with look-alike letters folded."""
    kind, _, identifier = name.partition(":")
    return f"{kind}:{fold(identifier)}"


def text_sha256(text: str) -> bytes:
    """Return the digest of a statement's text, without its signatures."""
    return hashlib.sha256(text.encode()).digest()
