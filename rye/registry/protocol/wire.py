"""Every file and message between client, server and mirrors, defined once for both sides (docs/reference/protocol.md).

Rules:

* JSON documents are msgspec structs that refuse unknown fields. Duplicate fields are also refused.
* Heads, index files and the nodes of the name map (:mod:`rye.registry.protocol.name_map`) have exactly one spelling:
  their decoders accept only what the encoders write.
* Decoding shows that a document is well formed, never that it is true.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Annotated, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import lines
from rye.registry.protocol.lines import MAX_NUMBER, StatementError
from rye.registry.protocol.notes import MAX_NOTE_BYTES
from rye.text.json_reading import JsonError, read_typed_json
from rye.text.lazy import lazy_pattern

PROTOCOL_VERSION = 2
MAX_CONFIG_BYTES = 64 * 1024
MAX_POLICY_CHARACTERS = 48 * 1024
"""The longest policy that a registry can suggest: JSON makes it longer."""
MAX_HEAD_BYTES = 128 * 1024
"""Two heads: one with as many cosignatures as a note can have, and one without."""
NAMESPACE = "namespace"
"""The part before the colon in a namespace's name; an item has its kind there."""

StageId = Annotated[str, Meta(pattern="^[0-9a-f]{16}\\Z")]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}\\Z")]
Base64Hash = Annotated[str, Meta(min_length=44, max_length=44)]
Note = Annotated[str, Meta(max_length=MAX_NOTE_BYTES)]
Position = Annotated[int, Meta(ge=0, le=MAX_NUMBER)]

_LINE = lazy_pattern(r'\{"log":(0|[1-9][0-9]{0,15}),"note":"((?:[^"\\\x00-\x1f]|\\["\\n])*)"\}')
_ESCAPED = lazy_pattern(r"\\(.)")
_UNESCAPE = {"n": "\n", '"': '"', "\\": "\\"}

_T = TypeVar("_T")


class WireError(RyeError):
    """A document that does not have its format.

    Codes: ``config-malformed``, ``protocol-unknown``, ``head-malformed``, ``head-too-large``, ``index-malformed``,
    ``answer-malformed``.
    """


class Config(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """``/config.json``: a hint, never trusted."""

    protocol: int
    origin: str
    api: str | None
    """An absolute address on the same host, an absolute path, or None for a read-only registry."""
    witness_policy: Annotated[str, Meta(max_length=MAX_POLICY_CHARACTERS)] | None = None
    """A policy of witnesses (C2SP tlog-policy) that the operator suggests. A person decides on a terminal."""


class CosignedHead(Struct, frozen=True, forbid_unknown_fields=True):
    """The newest head that witnesses cosigned, inside a newer one: the same members, with cosignatures at its checkpoint."""

    checkpoint: Note
    snapshot: Note
    proof: Annotated[list[Base64Hash], Meta(max_length=64)]
    map: Sha256

    def as_head(self) -> Head:
        """Return it as a head of its own."""
        return Head(self.checkpoint, self.snapshot, self.proof, self.map)


class Head(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """``/head``: everything that determines the registry's state."""

    checkpoint: Note
    snapshot: Note
    proof: Annotated[list[Base64Hash], Meta(max_length=64)]
    """Inclusion proof of the snapshot at position size − 1."""
    map: Sha256
    """The root of the name map; the signed snapshot contains the same."""
    cosigned: CosignedHead | None = None
    """The newest head that enough witnesses cosigned, if it is older than this one. Otherwise the cosignatures, if there are
    any, are at this checkpoint."""

    @property
    def alone(self) -> Head:
        """The head without the older one."""
        return Head(self.checkpoint, self.snapshot, self.proof, self.map)

    def proof_hashes(self) -> list[bytes]:
        """Return the proof as raw hashes. Raises WireError (``head-malformed``)."""
        try:
            return [lines.read_base64_hash(text) for text in self.proof]
        except StatementError as error:
            raise _head_malformed(error.message.removesuffix(".")) from error


class StatementsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """``POST <api>/statements``: all of these notes, or none.

    ``blobs`` are small files that the notes refer to, in base64, so that they need no separate request.
    """

    notes: Annotated[list[Note], Meta(min_length=1, max_length=10_000)]
    blobs: Annotated[list[bytes], Meta(max_length=10_000)] = []


class StatementResult(Struct, frozen=True, forbid_unknown_fields=True):
    """The position of a note in the log, and whether it was already there."""

    log: Position
    duplicate: bool


class StatementsAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """One result per note, in order, and the size of a checkpointed tree that contains them."""

    results: list[StatementResult]
    size: Position


class SearchResult(Struct, frozen=True, forbid_unknown_fields=True):
    """One item that a search found. It is shown to people; nothing is decided by it."""

    id: str
    kind: str
    version: str
    description: str
    score: float


SEARCH_TOTAL = 1_000
"""A search ranks and counts at most this many results."""
MORE: Literal["1000+"] = "1000+"
"""The total of a search that found more than :data:`SEARCH_TOTAL`."""
SearchTotal = Annotated[int, Meta(ge=0, le=SEARCH_TOTAL)] | Literal["1000+"]


class SearchAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """One page of results, and the total number, counted up to :data:`SEARCH_TOTAL`."""

    results: Annotated[list[SearchResult], Meta(max_length=SEARCH_TOTAL)]
    total: SearchTotal


SIMILAR_ASKED = 20
"""Names that one request for similar ones is about."""
SIMILAR_TOLD = 20
"""The most names that are told for each."""
_Name = Annotated[str, Meta(max_length=1_100)]


class SimilarAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """Existing names that people may confuse with those of the request, in its order. Each is ``kind:id`` or
    ``namespace:segment``, and nothing but the name map proves it."""

    names: Annotated[
        list[Annotated[list[_Name], Meta(max_length=SIMILAR_TOLD)]], Meta(min_length=1, max_length=SIMILAR_ASKED)
    ]


class BlobAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """A stored blob; ``duplicate``: the registry already had it."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}\\Z")]
    size: Annotated[int, Meta(ge=0)]
    duplicate: bool


class LiveAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """The server is running."""

    status: Literal["ok"]


class ReadyAnswer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The registry can publish: the entries in its log, and the seconds since its newest snapshot."""

    status: Literal["ok"]
    size: Annotated[int, Meta(ge=0)]
    head_age_seconds: int
    warnings: Annotated[list[Annotated[str, Meta(max_length=500)]], Meta(max_length=20)] = []
    """Sentences: what the operator should change nevertheless."""


class WhoamiAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose token it is, and what it may do."""

    name: str
    """Of the token."""
    token: str
    """The token's public id."""
    namespaces: Annotated[list[str], Meta(max_length=10_000)]
    scopes: Annotated[list[str], Meta(max_length=20)] = []
    expires: Annotated[str, Meta(max_length=20)] | None = None
    """When the token expires; None: never."""
    account: str | UnsetType = UNSET
    """The account that owns the token, for a client that asks for it (``?account=1``): older ones refuse what they do not know.
    Absent: the operator's token, or a server that does not say."""


class ExchangeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """``POST <api>/oidc/exchange``: a build server's identity token, issued for this registry."""

    token: Annotated[str, Meta(max_length=16_384)]


class ExchangeAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """A registry token and its time of expiry."""

    token: Annotated[str, Meta(max_length=200)]
    expires: Annotated[str, Meta(max_length=20)]


class DeviceBegun(Struct, frozen=True, forbid_unknown_fields=True):
    """``POST <api>/device/authorize`` (RFC 8628 3.2)."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class DeviceToken(Struct, frozen=True, forbid_unknown_fields=True):
    """``POST <api>/device/token`` (RFC 8628 3.5), after a person has confirmed."""

    access_token: str
    token_type: str
    expires_in: int


class DeviceError(Struct, frozen=True, forbid_unknown_fields=True):
    """The other answers of ``device/token``: ``authorization_pending``, ``slow_down``, ``access_denied``,
    ``expired_token``.
    """

    error: str


class StageRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """``POST <api>/stages``: the texts of unsigned release notes. All are staged or none."""

    drafts: Annotated[list[Note], Meta(min_length=1, max_length=10_000)]


class StageRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A release that waits for maintainers' signatures, or a decided one."""

    id: StageId
    kind: str
    name: str
    """The qualified id."""
    version: str
    namespace: str
    description: str
    sha256: Sha256
    size: Position
    """Total size of its files."""
    state: str
    """staged, approved, rejected or expired."""
    created: str
    expires: str
    by: str
    """The public ID of the token that staged it."""
    account: str | None
    signatures: Position
    needed: Position
    log: Position | None
    reason: str | None


class StagesAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to ``POST`` and ``GET <api>/stages``."""

    stages: Annotated[list[StageRow], Meta(max_length=10_000)]


class StageDetail(Struct, frozen=True, forbid_unknown_fields=True):
    """``GET <api>/stages/ID``. ``note``: what other maintainers have already signed."""

    stage: StageRow
    draft: Note
    note: Note | None


class ApprovalRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """``POST <api>/stages/ID/approvals``: the release note with a maintainer's signature."""

    note: Note


class RejectionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """``POST <api>/stages/ID/rejection``, with the reason for the person who staged it."""

    reason: Annotated[str, Meta(min_length=1, max_length=500)]


OPERATOR_ERRORS = frozenset(
    {
        "clock-ahead",
        "clock-jumped",
        "database-behind",
        "database-damaged",
        "log-key-missing",
        "root-expired",
        "store-credentials",
        "store-foreign",
    }
)
"""Codes of a registry that publishes nothing until its operator has acted: to repeat a request soon is useless."""


class ErrorBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An error's code, its message and, if there is one, the next step."""

    code: Annotated[str, Meta(pattern="^[a-z0-9-]{1,64}\\Z")]
    message: Annotated[str, Meta(max_length=4_096)]
    hint: Annotated[str, Meta(max_length=4_096)] | None = None


class ErrorAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to every failed request of the API."""

    error: ErrorBody


def encode_json(document: Struct) -> bytes:
    """Encode any of the structs above as compact JSON."""
    return msgspec.json.encode(document)


def decode_json(data: bytes, kind: type[_T], code: str = "answer-malformed") -> _T:
    """Decode one of the structs above; no unknown, missing or duplicate field. Raises WireError with ``code``."""
    try:
        return read_typed_json(data, kind)
    except JsonError as error:
        raise WireError(
            code, f"The registry's answer does not have the expected format: {str(error)[:200]}."
        ) from error


def encode_config(config: Config) -> bytes:
    """Encode ``/config.json``."""
    return encode_json(config) + b"\n"


def decode_config(data: bytes) -> Config:
    """Decode ``/config.json``.

    Raises WireError: ``config-malformed``, or ``protocol-unknown`` for another protocol version.
    """
    if len(data) > MAX_CONFIG_BYTES:
        raise WireError("config-malformed", f"/config.json is larger than {MAX_CONFIG_BYTES} bytes.")
    config = decode_json(data, Config, "config-malformed")
    if config.protocol != PROTOCOL_VERSION:
        raise WireError(
            "protocol-unknown",
            f"The registry uses version {config.protocol} of the protocol, but this rye supports {PROTOCOL_VERSION}.",
            "Install a newer version of rye.",
        )
    try:
        lines.read_origin(config.origin)
    except StatementError as error:
        raise WireError("config-malformed", error.message) from error
    return config


def api_address(config: Config, registry: str) -> str | None:
    """Return the address of a registry's API, without a trailing ``/``; None for a read-only registry.

    Raises WireError (``config-malformed``) for an API on another scheme, host or port than the registry, because tokens
    are sent there.
    """
    if config.api is None:
        return None
    base = urlsplit(registry)
    if base.scheme == "file":
        return None  # the folder of a registry, read without its server
    if config.api.startswith("/") and not config.api.startswith("//"):
        return f"{base.scheme}://{base.netloc}{config.api}".rstrip("/")
    api = urlsplit(config.api)
    if (api.scheme, api.netloc) != (base.scheme, base.netloc) or "\\" in config.api:
        raise WireError("config-malformed", f"The API address {config.api[:200]!r} is not on the registry's own host.")
    return config.api.rstrip("/")


def encode_head(head: Head) -> bytes:
    """Encode a head in its only spelling: compact JSON and LF."""
    return encode_json(head) + b"\n"


def decode_head(data: bytes) -> Head:
    """Decode a head. Raises WireError: ``head-too-large``, ``head-malformed``."""
    if len(data) > MAX_HEAD_BYTES:
        raise WireError("head-too-large", f"/head is larger than {MAX_HEAD_BYTES} bytes.")
    head = decode_json(data, Head, "head-malformed")
    if encode_head(head) != data:
        raise _head_malformed("its spelling is not canonical")
    return head


class IndexLine(Struct, frozen=True):
    """One statement about a name: its position in the log and the whole signed note."""

    log: int
    note: str


def encode_index(entries: Iterable[IndexLine]) -> bytes:
    """Encode an index file. Notes contain no control characters except LF, so three escapes make them JSON."""
    return "".join(f'{{"log":{entry.log},"note":"{_escape(entry.note)}"}}\n' for entry in entries).encode()


def decode_index(data: bytes) -> tuple[IndexLine, ...]:
    """Decode an index file; positions must ascend. Raises WireError (``index-malformed``)."""
    lines: list[IndexLine] = []
    for number, line in enumerate(_text_lines(data, "index-malformed"), 1):
        match = _LINE.fullmatch(line)
        if match is None or int(match[1]) > MAX_NUMBER:
            raise WireError("index-malformed", f"Line {number} of the index file is malformed.")
        log = int(match[1])
        if lines and log <= lines[-1].log:
            raise WireError("index-malformed", f"Line {number} of the index file is not in the log's order.")
        lines.append(IndexLine(log, _ESCAPED.sub(lambda escape: _UNESCAPE[escape[1]], match[2])))
    return tuple(lines)


def namespace_name(namespace: str) -> str:
    """Return a namespace's name in the name map."""
    return f"{NAMESPACE}:{namespace}"


def blob_path(sha256: str) -> str:
    """Return the path of an item's bytes, relative to the registry's address."""
    return f"blobs/sha256/{sha256[:2]}/{sha256}"


def index_name(subject: Identity | str) -> str:
    """Return the name in the name map of an identity, or of a namespace (given as text)."""
    return str(subject) if isinstance(subject, Identity) else namespace_name(subject)


def encode_hash(data: bytes) -> str:
    """Encode a hash for a head's proof."""
    return base64.b64encode(data).decode("ascii")


def _escape(note: str) -> str:
    return note.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _text_lines(data: bytes, code: str) -> list[str]:
    if not data:
        return []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WireError(code, "A file of the index is not UTF-8.") from error
    if not text.endswith("\n"):
        raise WireError(code, "A file of the index does not end with LF.")
    return text[:-1].split("\n")


def _head_malformed(reason: str) -> WireError:
    return WireError("head-malformed", f"The registry's head is malformed: {reason}.")
