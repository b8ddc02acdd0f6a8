"""The database's tables: everything that ``public/`` can be written from again, blobs excepted, and the accounts.

The log entries are the truth; names, the name map, releases, keysets and the head are functions of them that are kept so that a
publish need not read the whole log. ``rye-registry verify`` recomputes them all. Changes to the tables are alembic revisions in
``registry_server/migrations``; a test compares those with the definitions here.

Times are text ``YYYY-MM-DDTHH:MM:SSZ``, which sorts as time does. Hashes of files are lower-case hex, hashes of leaves raw bytes.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

REVISION = "0003"
"""The newest alembic revision: what a database must be at. A test compares it with the revisions' folder."""

registry = Table(
    "registry",
    metadata,
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
    comment="Facts that never change, e.g. the origin.",
)

log_entries = Table(
    "log_entries",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("leaf", LargeBinary, nullable=False, comment="The whole signed note."),
    Column("hash", LargeBinary, nullable=False, comment="RFC 6962 leaf hash."),
    Index("log_entries_hash", "hash"),
)

leader = Table(
    "leader",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False, comment="Always 1."),
    Column("epoch", BigInteger, nullable=False, comment="Grows whenever another process begins to write."),
    Column("holder", String(120), nullable=False, comment="The process that wrote last."),
)

tree_edge = Table(
    "tree_edge",
    metadata,
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("hashes", LargeBinary, nullable=False, comment="The partial tile at the right edge: 0 to 255 hashes."),
)

head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False, comment="Always 1."),
    Column("size", BigInteger, nullable=False),
    Column("time", String(20), nullable=False),
    Column("checkpoint", LargeBinary, nullable=False),
    Column("document", LargeBinary, nullable=False, comment="The bytes of /head."),
    Column("map", String(64), nullable=False, comment="The root of the name map."),
)

roots = Table(
    "roots",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, nullable=False),
    Column("note", LargeBinary, nullable=False),
)

names = Table(
    "names",
    metadata,
    Column("name", String(1100), primary_key=True, comment="kind:id, or namespace:segment."),
    Column("fold", String(1100), nullable=False, unique=True, comment="The name with look-alike letters folded."),
    Column("index_sha256", String(64), nullable=False),
    Column("index_size", BigInteger, nullable=False),
)

name_entries = Table(
    "name_entries",
    metadata,
    Column("name", String(1100), ForeignKey("names.name"), primary_key=True),
    Column("position", BigInteger, ForeignKey("log_entries.position"), primary_key=True, autoincrement=False),
    Column("text_sha256", LargeBinary, nullable=False, comment="Of the statement without its signatures."),
    comment="Which statements stand in the name's index file.",
)

keysets = Table(
    "keysets",
    metadata,
    Column("namespace", String(64), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("note", LargeBinary, nullable=False),
    Column("recovery", String(20), comment="When a recovery takes effect; empty for any other keyset."),
)

releases = Table(
    "releases",
    metadata,
    Column("name", String(1100), ForeignKey("names.name"), primary_key=True),
    Column("version", String(256), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column(
        "content", String(64), nullable=False, comment="Digest over the file and attached lines: the bytes released."
    ),
    Column("description", Text, nullable=False),
    Column("keywords", Text, nullable=False),
    Column("yanked", Boolean, nullable=False),
)

takedowns = Table(
    "takedowns",
    metadata,
    Column("sha256", String(64), primary_key=True, comment="A blob that left the store."),
    Column("position", BigInteger, ForeignKey("log_entries.position"), primary_key=True, autoincrement=False),
    Column("name", String(1100), nullable=False),
    Column("version", String(256), nullable=False),
    Column("reason", Text, nullable=False),
    comment="Bytes that must not come back, and why.",
)

submissions = Table(
    "submissions",
    metadata,
    Column("position", BigInteger, ForeignKey("log_entries.position"), primary_key=True, autoincrement=False),
    Column("token", String(16), nullable=False),
    Column("address", String(64), nullable=False, comment="Where the request came from; empty: unknown."),
    Column("time", String(20), nullable=False),
    Index("submissions_token", "token"),
    comment="Which token uploaded an entry. A fact of this server, not of the log.",
)

map_nodes = Table(
    "map_nodes",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("data", LargeBinary, nullable=False, comment="The node's bytes."),
    Column("since", BigInteger, nullable=False, comment="Heads of a log of at most so many entries do not need it."),
    Index("map_nodes_since", "since"),
    comment="The name map of the newest head, node by node.",
)

documents = Table(
    "documents",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("name", String(1100), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("namespace", String(64), nullable=False),
    Column("id", String(1100), nullable=False),
    Column("version", String(256), nullable=False, comment="The latest that is not yanked."),
    Column("description", Text, nullable=False),
    Column("keywords", Text, nullable=False),
    comment="What search finds: one row per name with a release that is not yanked.",
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("sha256", String(64), nullable=False, comment="Of the whole token; the token itself is never stored."),
    Column("created", String(20), nullable=False),
    Column("revoked", String(20)),
)

token_namespaces = Table(
    "token_namespaces",
    metadata,
    Column("token", String(16), ForeignKey("tokens.id"), primary_key=True),
    Column("namespace", String(64), primary_key=True),
    comment="What a token is bound to. No row: any namespace.",
)
