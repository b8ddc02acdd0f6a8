"""The database's tables: everything from which ``public/`` can be written again, except blobs, and the accounts.

The log entries are the source of truth. Names, the name map, releases, keysets and the head are computed from them and
stored, so that a publish need not read the whole log; ``rye-registry verify`` computes them all again. The tables
change only in alembic revisions in ``registry_server/migrations``; a test compares those with the definitions here.

Times are text ``YYYY-MM-DDTHH:MM:SSZ``, which sorts chronologically. Hashes of files are lower-case hex, leaf hashes
raw bytes.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()
_NAME = String(1100).with_variant(String(1100, collation="C"), "postgresql")
"""Names and ids sort by their bytes on both databases, so that an index finds those of a namespace."""

REVISION = "0017"
"""The newest alembic revision, which a database must have. A test compares it with the revisions' folder."""

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
    Column("epoch", BigInteger, nullable=False, comment="Grows each time another process takes over."),
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
    Column("name", _NAME, primary_key=True, comment="kind:id, or namespace:segment."),
    Column("fold", String(1100), nullable=False, unique=True, comment="The name with similar letters folded."),
    Column("index_sha256", String(64), nullable=False),
    Column("index_size", BigInteger, nullable=False),
    Column("deprecated", Boolean, nullable=False, comment="Whether its owners deprecated it."),
)

name_entries = Table(
    "name_entries",
    metadata,
    Column("name", _NAME, ForeignKey("names.name"), primary_key=True),
    Column("position", BigInteger, ForeignKey("log_entries.position"), primary_key=True, autoincrement=False),
    Column("text_sha256", LargeBinary, nullable=False, comment="SHA-256 of the statement without its signatures."),
    comment="The statements in the name's index file.",
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
    Column("name", _NAME, ForeignKey("names.name"), primary_key=True),
    Column("version", String(256), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column(
        "content", String(64), nullable=False, comment="Digest over the file and attached lines: the bytes released."
    ),
    Column("description", Text, nullable=False),
    Column("keywords", Text, nullable=False),
    Column("yanked", Boolean, nullable=False),
)

owner_statements = Table(
    "owner_statements",
    metadata,
    Column("namespace", String(64), primary_key=True),
    Column("position", BigInteger, ForeignKey("log_entries.position"), primary_key=True, autoincrement=False),
    Column("text_sha256", LargeBinary, nullable=False, comment="SHA-256 of the statement without its signatures."),
    Column("note", LargeBinary, nullable=False),
    comment="What the owners of namespaces stated about themselves: the lines of /owners/<namespace>.",
)

owner_checks = Table(
    "owner_checks",
    metadata,
    Column("namespace", String(64), primary_key=True),
    Column("place", String(300), primary_key=True, comment="A domain, or a repository's address."),
    Column("position", BigInteger, nullable=False, comment="The proof that was checked."),
    Column(
        "outcome", String(16), nullable=False, comment="found, gone or unreachable: rye.registry.ownership.checking."
    ),
    Column("since", String(20), nullable=False, comment="Since when every check had this outcome."),
    Column("checked", String(20), nullable=False, comment="When it was checked last."),
    comment="Whether proofs of owners were still there when this registry looked again.",
)

takedowns = Table(
    "takedowns",
    metadata,
    Column("sha256", String(64), primary_key=True, comment="A blob that was removed from the store."),
    Column("position", BigInteger, ForeignKey("log_entries.position"), primary_key=True, autoincrement=False),
    Column("name", _NAME, nullable=False),
    Column("version", String(256), nullable=False),
    Column("reason", Text, nullable=False),
    comment="Blobs that must not return, and why.",
)

submissions = Table(
    "submissions",
    metadata,
    Column("position", BigInteger, ForeignKey("log_entries.position"), primary_key=True, autoincrement=False),
    Column("token", String(16), nullable=False),
    Column("account", String(16), comment="The token's account; empty: the operator's token."),
    Column("address", String(64), nullable=False, comment="The client's address; empty: unknown."),
    Column("time", String(20), nullable=False),
    Index("submissions_token", "token"),
    comment="Which token uploaded an entry. It is known to this server only, and not in the log.",
)

map_nodes = Table(
    "map_nodes",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("data", LargeBinary, nullable=False, comment="The node's bytes."),
    Column(
        "since", BigInteger, nullable=False, comment="Heads of a log with at most this many entries do not need it."
    ),
    Index("map_nodes_since", "since"),
    comment="The nodes of the newest head's name map.",
)

documents = Table(
    "documents",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("name", _NAME, nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("namespace", String(64), nullable=False),
    Column("id", _NAME, nullable=False),
    Column("version", String(256), nullable=False, comment="The latest that is not yanked."),
    Column("description", Text, nullable=False),
    Column("keywords", Text, nullable=False),
    Column("deprecated", Boolean, nullable=False),
    Column("terms", Text, nullable=False, comment="Its stems and their strengths: rye.text.ranking.scoring.terms_of."),
    comment="The search index: one row per name with a release that is not yanked. Its tokens are in documents_fts.",
)

search_words = Table(
    "search_words",
    metadata,
    Column("word", String(64), primary_key=True),
    Column("namespace", String(64), primary_key=True),
    Column("uses", Integer, nullable=False, comment="How many ids of the namespace have the word."),
    Index("search_words_namespace", "namespace", "word"),
    comment="Words of ids, to correct mistyped words.",
)

search_grams = Table(
    "search_grams",
    metadata,
    Column("gram", String(3), primary_key=True),
    Column("letters", Integer, primary_key=True, autoincrement=False, comment="How many letters the word has."),
    Column("word", String(64), primary_key=True),
    comment="The trigrams of these words.",
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", String(16), primary_key=True),
    Column(
        "issuer",
        String(500),
        nullable=False,
        comment="The OIDC issuer that identifies the person; empty: the operator.",
    ),
    Column("subject", String(255), nullable=False, comment="The person's ID at the issuer."),
    Column("name", String(100), nullable=False, unique=True),
    Column("created", String(20), nullable=False),
    Column("disabled", String(20)),
    Column("groups_time", String(20), comment="When the issuer last said what groups the person is in; empty: never."),
    UniqueConstraint("issuer", "subject", name="accounts_person"),
)

account_links = Table(
    "account_links",
    metadata,
    Column("sha256", String(64), primary_key=True, comment="SHA-256 of the secret in the link."),
    Column("account", String(16), ForeignKey("accounts.id"), nullable=False),
    Column("expires", String(20), nullable=False),
    Column("used", String(20)),
    comment="Single-use sign-in links.",
)

sessions = Table(
    "sessions",
    metadata,
    Column("sha256", String(64), primary_key=True, comment="SHA-256 of the secret in the cookie."),
    Column("account", String(16), ForeignKey("accounts.id"), nullable=False),
    Column("created", String(20), nullable=False),
    Column("expires", String(20), nullable=False),
)

teams = Table(
    "teams",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("created", String(20), nullable=False),
)

team_members = Table(
    "team_members",
    metadata,
    Column("team", String(64), ForeignKey("teams.name"), primary_key=True),
    Column("account", String(16), ForeignKey("accounts.id"), primary_key=True),
    Column("group_name", String(400), primary_key=True, server_default="", comment="Because of it; empty: by hand."),
)

team_groups = Table(
    "team_groups",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("issuer", String(500), nullable=False, comment="Whose group; empty: of accounts that the operator made."),
    Column("group_name", String(400), nullable=False),
    Column("team", String(64), ForeignKey("teams.name"), nullable=False),
    Column("created", String(20), nullable=False),
    UniqueConstraint("issuer", "group_name", "team", name="team_groups_once"),
    comment="Which groups of the identity provider are in which teams.",
)

namespace_roles = Table(
    "namespace_roles",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("namespace", String(64), nullable=False),
    Column("account", String(16), ForeignKey("accounts.id")),
    Column("team", String(64), ForeignKey("teams.name")),
    Column("role", String(16), nullable=False, comment="owner, publisher or reader."),
    UniqueConstraint("namespace", "account", name="namespace_roles_account"),
    UniqueConstraint("namespace", "team", name="namespace_roles_team"),
    CheckConstraint("(account IS NULL) <> (team IS NULL)", name="namespace_roles_one"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("sha256", String(64), nullable=False, comment="SHA-256 of the whole token, which is never stored."),
    Column("account", String(16), ForeignKey("accounts.id"), comment="Its account; empty: the operator's token."),
    Column("scopes", String(100), nullable=False, comment="What it may do, separated by spaces."),
    Column("created", String(20), nullable=False),
    Column("expires", String(20), comment="Empty: never."),
    Column("last_used", String(20), comment="Exact to a few minutes."),
    Column("revoked", String(20)),
)

token_namespaces = Table(
    "token_namespaces",
    metadata,
    Column("token", String(16), ForeignKey("tokens.id"), primary_key=True),
    Column("namespace", String(64), primary_key=True),
    comment="The namespaces of a token. No row: any namespace.",
)

trusted_publishers = Table(
    "trusted_publishers",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("namespace", String(64), nullable=False),
    Column("issuer", String(500), nullable=False),
    Column("repository", String(400), nullable=False),
    Column("workflow", String(400), nullable=False),
    Column("environment", String(255), nullable=False, comment="Empty: any."),
    Column("scopes", String(100), nullable=False, comment="Scopes of its tokens."),
    Column("created", String(20), nullable=False),
    Column(
        "owner",
        String(64),
        comment="The ID of the repository's owner, from the first token; empty: none yet.",
    ),
    UniqueConstraint("namespace", "issuer", "repository", "workflow", "environment", name="trusted_publishers_once"),
    comment="Which workflows of which repositories get tokens for a namespace.",
)

exchanged_jwts = Table(
    "exchanged_jwts",
    metadata,
    Column("sha256", String(64), primary_key=True, comment="SHA-256 of issuer and jti. Each is exchanged once."),
    Column("expires", String(20), nullable=False),
)

device_logins = Table(
    "device_logins",
    metadata,
    Column("sha256", String(64), primary_key=True, comment="SHA-256 of the device code."),
    Column("user_code", String(16), nullable=False, unique=True),
    Column("name", String(100), nullable=False, comment="The device's own name for itself."),
    Column("created", String(20), nullable=False),
    Column("expires", String(20), nullable=False),
    Column("polled", String(32), comment="When the device last asked."),
    Column("account", String(16), ForeignKey("accounts.id"), comment="Who decided."),
    Column("state", String(16), nullable=False, comment="waiting, approved, denied or done."),
    Column("address", String(64), comment="The device's address; empty: unknown."),
)

stages = Table(
    "stages",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("namespace", String(64), nullable=False),
    Column("name", String(1100), nullable=False, comment="kind:id"),
    Column("version", String(256), nullable=False),
    Column("draft", LargeBinary, nullable=False, comment="The release note, without signatures."),
    Column("note", LargeBinary, comment="The note that maintainers sign, with the signatures so far."),
    Column("size", BigInteger, nullable=False, comment="Total size of its files."),
    Column("token", String(16), nullable=False),
    Column("account", String(16)),
    Column("address", String(64), nullable=False),
    Column("created", String(20), nullable=False),
    Column("expires", String(20), nullable=False),
    Column("state", String(16), nullable=False, comment="staged, approved or rejected."),
    Column("position", BigInteger, comment="Position in the log, once approved."),
    Column("decided", String(20)),
    Column("reason", Text),
    Index("stages_name", "name", "version"),
    comment="Releases that are hidden until a maintainer signs them.",
)

stage_files = Table(
    "stage_files",
    metadata,
    Column("stage", String(16), ForeignKey("stages.id"), primary_key=True),
    Column("sha256", String(64), primary_key=True),
    Index("stage_files_sha256", "sha256"),
)

audit_events = Table(
    "audit_events",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("time", String(20), nullable=False),
    Column("actor", String(140), nullable=False, comment="operator, token:ID, account:ID, or registry."),
    Column("address", String(64), nullable=False),
    Column("action", String(64), nullable=False),
    Column("subject", String(1400), nullable=False),
    Column("detail", Text, nullable=False, comment="JSON."),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False, comment="SHA-256 over this row and the previous hash."),
    comment="Changes to accounts, rights and releases. Append-only.",
)

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False, comment="Always 1."),
    Column("size", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    comment="The end of audit_events, to notice a removed last row.",
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("url", String(2000), nullable=False),
    Column("namespace", String(64), nullable=False, comment="Empty: all."),
    Column("events", String(200), nullable=False, comment="Separated by spaces."),
    Column("secret", String(100), nullable=False),
    Column("created", String(20), nullable=False),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("webhook", String(16), nullable=False),
    Column("event", String(32), nullable=False),
    Column("body", Text, nullable=False),
    Column("created", String(20), nullable=False),
    Column("due", String(20), comment="The next attempt; empty: none."),
    Column("attempts", Integer, nullable=False),
    Column("status", Integer, comment="HTTP status of the last answer."),
    Column("error", Text),
    Column("delivered", String(20)),
    Index("deliveries_due", "due"),
)

blob_namespaces = Table(
    "blob_namespaces",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("namespace", String(64), primary_key=True),
    Column("size", BigInteger, comment="Empty: a server of revision 0013 filled the row."),
    Index("blob_namespaces_namespace", "namespace"),
    comment="The namespaces that released a file, for private reading and quotas. Filled from the log on demand.",
)

dependents = Table(
    "dependents",
    metadata,
    Column("target", _NAME, primary_key=True, comment="kind:id of an item."),
    Column("name", _NAME, primary_key=True, comment="kind:id of an item with a release that depends on it."),
    Column("version", String(256), primary_key=True),
    comment="Which releases depend on what, for pages. Filled from the log on demand.",
)

listings = Table(
    "listings",
    metadata,
    Column("name", _NAME, primary_key=True, comment="kind:id"),
    Column("version", String(256), nullable=False, comment="The release that the row is about."),
    Column("code", String(16), nullable=False, comment="The code that described it."),
    Column("declared", Boolean, comment="Empty: not known, or it only names other items."),
    Column("alarms", Integer, comment="Empty: not known."),
    Column("licence", String(80), nullable=False, comment="Cut; empty: none."),
    Column("used_by", Integer, nullable=False, comment="Items of other namespaces that depend on it."),
    Column("publishers", Integer, nullable=False, comment="The number of these namespaces."),
    comment="What lists of items filter and sort by, for pages. Filled on demand.",
)
