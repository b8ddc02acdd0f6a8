"""Whatever bytes a caller sends to whatever call: the answer speaks of the request, and is no error of the server's.

The decoders themselves are in ``tests/registry/test_arbitrary_bytes.py``.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields

from registry_server.accounts.rate_limits import RateLimit
from registry_server.accounts.scopes import SCOPES
from registry_server.api.application import OPERATIONS
from registry_server.api.operations import Operation
from registry_server.api.requests import decode_request
from rye.errors import RyeError
from tests.registry.test_arbitrary_bytes import AWKWARD
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import error_code

CALLS = [one for one in OPERATIONS if one.method != "get"]
DOCUMENTS = [one for one in CALLS if isinstance(one.body, type) and issubclass(one.body, Struct)]
IDS = [one.name for one in DOCUMENTS]


@pytest.fixture(scope="module")
def full(local: LocalRegistry) -> str:
    return local.token(scopes=list(SCOPES))


def texts_of(kind: type[Struct]) -> list[bytes]:
    """Documents with an awkward value in each field."""
    values = (b'"\xff"', b'["\xff"]', b'"\\u0000"', b'["\\u0000"]', b'"\\ud800"', b"-1", b"null", b"{}", b"[[[]]]")
    return [b'{"%s":%s}' % (one.encode_name.encode(), value) for one in fields(kind) for value in values]


def test_there_are_calls_with_documents() -> None:
    assert {"exchangeOidcToken", "postStatements", "stage", "approveStage", "rejectStage"} < set(IDS)
    assert len(IDS) > 10


@pytest.mark.parametrize("call", rest_thorough(8, CALLS), ids=[one.name for one in CALLS])
def test_no_body_is_an_internal_error(
    local: LocalRegistry, full: str, monkeypatch: pytest.MonkeyPatch, call: Operation
) -> None:
    path = re.sub(r"\{\w+\}", "0" * 16, call.path)
    kind = call.body
    documents = texts_of(kind) if isinstance(kind, type) and issubclass(kind, Struct) else []
    for token in (full, ""):
        for body in (*AWKWARD, *documents):
            monkeypatch.setattr(local.service, "sign_in_rate", RateLimit(1_000))
            answer = local.ask(call.method.upper(), path, token, content=body)
            assert answer.status_code < 500, (body[:80], answer.text)
            assert "registry's answer" not in answer.text


@pytest.mark.parametrize("call", rest_thorough(4, DOCUMENTS), ids=IDS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_every_document_is_read_or_refused_as_a_request(call: Operation, data: st.DataObject) -> None:
    body = data.draw(st.binary(max_size=100) | st.sampled_from(AWKWARD) | st.sampled_from(texts_of(call.body)))
    try:
        decode_request(body, call.body)
    except RyeError as error:
        refused = error
    else:
        return
    assert refused.code == "bad-request"
    assert refused.message.startswith("The request does not have the expected format: ")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/oidc/exchange", b'{"token":"\xff\xfe"}'),
        ("/api/v1/statements", b'{"notes":["\xff"]}'),
        ("/api/v1/stages", b'{"notes":[]}'),
        ("/api/v1/admin/teams", b'{"name":"\xff"}'),
    ],
)
def test_a_malformed_request_is_named_as_one(local: LocalRegistry, full: str, path: str, body: bytes) -> None:
    answer = local.post(path, full, content=body)
    assert (answer.status_code, error_code(answer)) == (400, "bad-request")
    assert answer.json()["error"]["message"].startswith("The request does not have the expected format: ")


def test_the_text_backslash_u0000_is_not_a_nul_character() -> None:
    """A release may explain JSON; PostgreSQL cannot keep the character itself."""
    kind = next(one.body for one in DOCUMENTS if one.name == "postStatements")
    assert decode_request(b'{"notes":["\\\\u0000"]}', kind).notes == ["\\u0000"]
    with pytest.raises(RyeError, match="NUL"):
        decode_request(b'{"notes":["a\\u0000"]}', kind)
