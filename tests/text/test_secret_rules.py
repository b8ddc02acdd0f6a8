"""What a secret is and what stands in its place: at least sixty of each, and the declaration that a line has none.

Values are drawn here with a fixed seed, and prefixes are put together, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import string
from random import Random

import pytest

from rye.text.facts import find_facts
from rye.text.randomness import is_drawn
from rye.text.secrets import declared_secrets, find_secrets

LETTERS = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URL_SAFE = LETTERS + "-_"
DASHES = "-" * 5
_random = Random(20_240_601)


def drawn(length: int, letters: str = LETTERS) -> str:
    """A value as a machine draws it: with letters and digits, if there are any."""
    while True:
        value = "".join(_random.choice(letters) for _ in range(length))
        if length < 8 or letters == string.digits or (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
            return value


def key_text(lines: int = 3) -> str:
    """Lines as those of a key, of bytes that are none."""
    return "\n".join(base64.b64encode(_random.randbytes(48)).decode() for _ in range(lines))


def header(kind: str) -> str:
    return f"{DASHES}BEGIN {kind}PRIVATE KEY{DASHES}"


def web_token() -> str:
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"4711","iat":1700000000}')
    return ".".join((*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), drawn(43, URL_SAFE)))


TRUE = [
    *(f"{header(kind)}\n{key_text()}\n" for kind in ("", "RSA ", "EC ", "OPENSSH ", "DSA ", "ENCRYPTED ")),
    f"{DASHES}BEGIN PGP PRIVATE KEY BLOCK{DASHES}\nVersion: 2\n\n{key_text()}\n",
    f"{header('RSA ')}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{drawn(32, HEX).upper()}\n\n{key_text()}\n",
    f'"private_key": "{header("")}\\n{key_text(1)}\\n{key_text(1)}\\n"',
    f"key = '''{header('EC ')}\n{key_text()}'''",
    f"  {header('')}\n  {key_text(1)}\n",
    f"> {header('')}\n> {key_text(1)}\n",
    "PRIVATE" + f"+KEY+acme.dev+{drawn(8, HEX)}+{base64.b64encode(_random.randbytes(33)).decode()}",
    "AGE-" + f"SECRET-KEY-1{drawn(58, UPPER)}",
    "rye" + f"_{drawn(16, HEX)}_{drawn(43, URL_SAFE)}",
    *(f"token: {prefix}_{drawn(36)}" for prefix in ("gh" + "p", "gh" + "o", "gh" + "s", "gh" + "u", "gh" + "r")),
    "github" + f"_pat_{drawn(22)}_{drawn(59)}",
    *("gl" + f"{kind}-{drawn(20, URL_SAFE)}" for kind in ("pat", "dt", "rt", "ptt")),
    *("A" + f"{kind}{drawn(16, UPPER)}" for kind in ("KIA", "SIA")),
    *("xo" + f"x{kind}-{drawn(12, string.digits)}-{drawn(12, string.digits)}-{drawn(24)}" for kind in "bpa"),
    "https://hooks." + f"slack.com/services/T{drawn(8, UPPER)}/B{drawn(8, UPPER)}/{drawn(24)}",
    *(
        "s" + f"k-{kind}{drawn(length, URL_SAFE)}"
        for kind, length in (("", 48), ("ant-", 95), ("proj-", 64), ("or-v1-", 64))
    ),
    "AI" + f"za{drawn(35, URL_SAFE)}",
    *(f"{kind}k_" + f"live_{drawn(24)}" for kind in "sr"),
    "npm" + f"_{drawn(36)}",
    "pypi" + f"-AgE{drawn(60, URL_SAFE)}",
    "SG" + f".{drawn(22, URL_SAFE)}.{drawn(43, URL_SAFE)}",
    "hf" + f"_{drawn(34)}",
    f"Authorization: Bearer {web_token()}",
    *(f"{scheme}://app:{drawn(16)}@db.acme.io/app" for scheme in ("postgres", "mysql", "amqp", "https")),
    f"redis://default:{drawn(32)}@localhost:6379",
    "mongodb://app:" + "hunter22" + "secretly@cluster.acme.io/app",
    *(f"{name}={drawn(length)}" for name, length in (("DATABASE_PASSWORD", 20), ("API_KEY", 32), ("AUTH_TOKEN", 40))),
    f"AWS_SECRET_ACCESS_KEY={drawn(40, LETTERS + '+/')}",
    f'export CLIENT_SECRET="{drawn(32)}"',
    f"SESSION_SECRET='{drawn(64, HEX)}'",
    f"STRIPE_API_KEY={drawn(32)}  # of the test account",
    f"SIGNING_PRIVATE_KEY={base64.b64encode(_random.randbytes(32)).decode()}",
    f"GOOGLE_CREDENTIALS={drawn(48, URL_SAFE)}",
    f'api_key = "{drawn(40)}"',
    f"  password: '{drawn(24)}'",
    f'{{"accessKey": "{drawn(40)}", "region": "eu"}}',
    f'const clientSecret = "{drawn(36)}";',
    f"auth_token: `{drawn(40, HEX)}`",
    f"'secret' => '{drawn(32)}',",
    f'apiKey := "{drawn(32)}"',
]
"""Each has one secret, or one private key."""

FALSE = [
    # refused once, by eight public skills that have no secret
    "AI_GATEWAY_TOKEN=vca_" + "abc123",
    "STRIPE_SECRET_KEY=sk_live_" + "xxx",
    "OPENAI_API_KEY=api-key-here",
    "MINIO_SECRET_KEY=minioadmin",
    "NCBI_API_KEY=ABC1234XYZ",
    "OPENROUTER_API_KEY=sk-or-v1-" + "project1-key",
    "DB_PASSWORD=password123",
    f'PATTERNS = [r"{header("RSA ")}", r"{header("")}"]',
    # a key's first line and nothing of a key
    header(""),
    f"{header('OPENSSH ')}\n...\n{DASHES}END OPENSSH PRIVATE KEY{DASHES}",
    f"{header('RSA ')}\nMIIEowIBAAKCAQEA...\n{DASHES}END RSA PRIVATE KEY{DASHES}",
    f"{header('')}\n<your key>\n",
    f"| {header('EC ')} | a key |",
    f"grep -r '{header('')}' . && exit 1",
    f"{DASHES}BEGIN PUBLIC KEY{DASHES}\n{key_text()}\n",
    f"{DASHES}BEGIN CERTIFICATE{DASHES}\n{key_text()}\n",
    # tokens of the right form that nobody drew
    "gh" + "p_" + "x" * 36,
    "gh" + "p_your_token_goes_here_and_nowhere_else",
    "gl" + "pat-" + "x" * 20,
    "AK" + "IA" + "IOSFODNN7EXAMPLE",
    "s" + "k-this-is-where-your-own-key-goes-not-mine",
    "s" + "k-ant-api03-" + "your-key-here-please-and-thank-you",
    "s" + "k-" + "0" * 48,
    "s" + "k-proj-" + "abcdefghijklmnopqrstuvwxyz" * 2,
    "xo" + "xb-your-slack-bot-token-goes-here",
    "https://hooks." + "slack.com/services/your/webhook/address-goes-here",
    "SG" + ".xxxxxxxxxxxxxxxxxxxxxx." + "x" * 43,
    "hf" + "_" + "x" * 34,
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJleGFtcGxlIn0.{'x' * 43}",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    # addresses
    "postgres://postgres:postgres@localhost:5432/app",
    "postgres://user:password@host/db",
    "postgres://user:password123@localhost/db",
    "mysql://root:rootpass1@127.0.0.1/app",
    "redis://:changeme@redis:6379/0",
    "amqp://guest:guest@localhost/",
    "mongodb://admin:<password>@cluster.acme.io/app",
    "https://user:${TOKEN}@git.acme.io/repo.git",
    "https://x-access-token:$TOKEN@git.acme.io/repo.git",
    "s3://minioadmin:minioadmin@minio:9000",
    "postgresql://app:my_secure_password@db.example.com/app",
    "mysql://app:secretpassword@mysql.internal/app",
    # assignments
    "DATABASE_PASSWORD=<your password>",
    "API_KEY=${API_KEY}",
    "API_KEY=your-key-goes-here",
    "API_KEY=12345678",
    "API_KEY=1234567890abcdef",
    "SECRET_KEY=my-super-secret-key-change-in-production",
    "JWT_SECRET=supersecretjwttoken",
    "SECRET_KEY=django-insecure-change-this-key",
    "POSTGRES_PASSWORD=postgres",
    "ADMIN_PASSWORD=P@ssw0rd!",
    "PASSWORD=S3cr3t!2024",
    "ACCESS_TOKEN=test-token-123",
    "API_TOKEN=abc123def456",
    "CLIENT_SECRET=client-secret-value",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "GITHUB_TOKEN=$(gh auth token)",
    "TOKEN=token_from_the_dashboard",
    "KEYRING_PASSWORD=correct-horse-battery-staple",
    "SECRET_NAME=projects/my-project/secrets/my-secret",
    "CREDENTIALS_PATH=/etc/acme/credentials/service.json",
    'api_key = "your_api_key_goes_here_please"',
    'password: "correct horse battery staple"',
    '"tokenEndpoint": "https://login.acme.io/oauth2/v2.0/token"',
    'secret_name = "prod/database/primary/credentials"',
    "token_type = 'urn:ietf:params:oauth:token-type:access_token'",
    'apiKey: process.env.ACME_API_KEY ?? "no-key-was-configured"',
    "max_tokens: '4096'",
    'private_key_file = "/home/app/.keys/deployment_key_file"',
    # prose
    "Never paste a private key into a directive.",
    "The token is kept in the key ring; password: ask the operator",
]


@pytest.mark.parametrize("text", TRUE, ids=range(len(TRUE)))
def test_a_secret_stops_a_publication(text: str) -> None:
    assert [line for line, _ in find_secrets(f"# Title\n\n{text}\nmore\n")] == [3]


@pytest.mark.parametrize("text", FALSE, ids=range(len(FALSE)))
def test_what_stands_in_a_secrets_place_does_not(text: str) -> None:
    assert find_secrets(f"# Title\n\n{text}\nmore\n") == []


def test_there_are_enough_of_both() -> None:
    assert min(len(TRUE), len(FALSE)) >= 60


@pytest.mark.parametrize(
    ("letters", "length", "least"),
    [(LETTERS, 16, 94), (LETTERS, 24, 98), (LETTERS, 40, 100), (HEX, 32, 99), (LOWER, 32, 98), (UPPER, 32, 95)],
)
def test_nearly_every_drawn_value_is_recognized(letters: str, length: int, least: int) -> None:
    values = [drawn(length, letters) for _ in range(500)]
    assert sum(map(is_drawn, values)) * 100 >= least * len(values)


TOKEN = "gh" + "p_" + drawn(36)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"token = '{TOKEN}'  # rye:allow-secret revoked in 2023, part of a talk", "revoked in 2023, part of a talk"),
        (f"{TOKEN} <!-- rye:allow-secret: shown in a screenshot --> and more", "shown in a screenshot"),
        (f"/* rye:allow-secret of a test account */ const t = '{TOKEN}'", "of a test account"),
        (f'{{"note": "rye:allow-secret made up by hand", "token": "{TOKEN}"}}', "made up by hand"),
        (f"{TOKEN} # rye:allow-secret not {TOKEN[4:]} but a sample", "not … but a sample"),
    ],
)
def test_a_line_declares_that_it_has_no_secret(line: str, reason: str) -> None:
    text = f"first\n{line}\nlast\n"
    assert find_secrets(text) == []
    assert [tuple(found) for found in declared_secrets(text)] == [(2, "a GitHub token", reason)]


@pytest.mark.parametrize("end", ["", " -->", " */", ": ", " #", " - . -", " 12 ok"])
def test_a_declaration_without_a_reason_is_refused(end: str) -> None:
    text = f"{TOKEN} # rye:allow-secret{end}\n"
    assert find_secrets(text) == [(1, "a GitHub token (its rye:allow-secret gives no reason)")]
    assert declared_secrets(text) == []


def test_a_declaration_is_for_its_own_line_only() -> None:
    assert find_secrets(f"# rye:allow-secret a made-up value\n{TOKEN}\n") == [(2, "a GitHub token")]
    assert find_secrets(f"{TOKEN}\n# rye:allow-secret a made-up value\n") == [(1, "a GitHub token")]
    assert find_secrets(f"{TOKEN} # rye:allow-secrets a made-up value\n") == [(1, "a GitHub token")]


def test_a_declaration_on_the_first_line_of_a_key_is_a_fact_and_hides_no_key() -> None:
    """That is the line which the error names. Words behind the dashes made the key invisible, with and without a declaration."""
    first = header("RSA ")
    assert find_secrets(f"{first} of the test server\n{key_text()}\n") == [(1, "a private key")]
    text = f"{first} # rye:allow-secret of the tests\n{key_text()}\n"
    assert find_secrets(text) == []
    assert [(one.line, one.what, one.reason) for one in declared_secrets(text)] == [
        (1, "a private key", "of the tests")
    ]
    assert [fact.fact for fact in find_facts({"key.pem": text})] == ["allowed-secret"]
    assert find_secrets(f"{first} is how a key begins.\n\nNever commit one.\n") == []


def test_whoever_installs_sees_the_declaration() -> None:
    facts = find_facts({"SKILL.md": f"# A\n\ntoken: {TOKEN} (rye:allow-secret revoked, from a talk)\n"})
    assert [(fact.level, fact.value, fact.line) for fact in facts if fact.fact == "allowed-secret"] == [
        ("caution", "a GitHub token: revoked, from a talk", 3)
    ]


def test_a_declaration_over_nothing_is_no_fact() -> None:
    facts = find_facts({"SKILL.md": "Write `rye:allow-secret REASON` at the line.\n"})
    assert [fact for fact in facts if fact.fact == "allowed-secret"] == []
