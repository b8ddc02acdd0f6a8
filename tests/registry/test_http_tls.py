"""``https``: only a server with a certificate for its name, from an authority that the user trusts, is accepted."""

from __future__ import annotations

import os
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec.structs import replace

from rye.limits import REGISTRY, RegistryLimits
from rye.registry.transport import http as http_transport
from rye.registry.transport.http import HttpTransport
from rye.registry.transport.http_connection import authorities_for, trusted_authorities
from rye.registry.transport.seam import Fetched, FetchError, Request
from tests.registry.raw_server import Peer, RawServer, answer, answer_all, talking

ONCE = replace(REGISTRY, retries=0)
IMPATIENT = replace(ONCE, connect_seconds=0.3)
TEXT = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext"


class Authority:
    """A certificate authority. Its own certificate is in ``file``."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of this test")])
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            self._begin(self._name, self._key.public_key(), datetime.now(UTC) + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / "authority.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, *names: str, hours: float = 1) -> ssl.SSLContext:
        """A server with a certificate for these names, valid for this long; already expired if that is negative."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = [
            x509.IPAddress(ip_address(name)) if name[-1].isdigit() else x509.DNSName(name) for name in names
        ]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = (
            self._begin(subject, key.public_key(), datetime.now(UTC) + timedelta(hours=hours))
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        file = self._folder / "server.pem"
        plain = serialization.NoEncryption()
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _begin(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, expires: datetime) -> x509.CertificateBuilder:
        ours = self._key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(expires - timedelta(days=1))
            .not_valid_after(expires)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ours), critical=False)
        )


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(params=[False, True], ids=["direct", "httpx"], autouse=True)
def _ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with both HTTP clients: ours and httpx, which is used with proxies but connects directly without one."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(http_transport, "_is_proxied", lambda: request.param)


@pytest.fixture
def trusting(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that the user trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


def fetch(server: RawServer, host: str = "127.0.0.1", limits: RegistryLimits = ONCE) -> Fetched:
    return HttpTransport(f"https://{host}:{server.port}", limits).fetch_many([Request("head", 100)])[0]


def refusal(fetched: Fetched) -> str:
    assert isinstance(fetched, FetchError), fetched
    assert fetched.code == "fetch-unreachable"
    return fetched.message


def test_a_trusted_server_is_read_over_one_connection(trusting: Authority) -> None:
    with talking(answer_all(TEXT), tls=trusting.server("127.0.0.1")) as server:
        transport = HttpTransport(f"https://{server.place}", ONCE)
        for _ in range(3):
            assert transport.fetch_many([Request("head", 100)]) == [b"text"]
        transport.close()
    assert server.connections == [1, 1, 1]


def test_a_connection_that_the_server_closed_meanwhile_is_no_failure(trusting: Authority) -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(TEXT)
        read.wait(5)
        peer.reset()
        gone.set()

    read, gone = threading.Event(), threading.Event()
    tls = trusting.server("127.0.0.1")
    tls.maximum_version = ssl.TLSVersion.TLSv1_2  # the client sees this as a TLS error
    with talking(talk, tls=tls) as server:
        transport = HttpTransport(f"https://{server.place}", ONCE)
        assert transport.fetch_many([Request("head", 100)]) == [b"text"]
        read.set()
        assert gone.wait(5)
        assert transport.fetch_many([Request("head", 100)]) == [b"text"]
    assert server.connections == [1, 2]


def test_a_host_has_its_name(trusting: Authority) -> None:
    with talking(answer(TEXT), tls=trusting.server("localhost")) as server:
        assert fetch(server, "localhost") == b"text"
    assert b"host: localhost:%d\r\n" % server.port in server.requests[0][1].lower()


def test_a_server_that_nobody_vouches_for_is_refused(authority: Authority) -> None:
    with talking(answer(TEXT), tls=authority.server("127.0.0.1")) as server:
        assert "CERTIFICATE_VERIFY_FAILED" in refusal(fetch(server))
    assert server.requests == []


def test_a_certificate_for_another_host_is_refused(trusting: Authority) -> None:
    with talking(answer(TEXT), tls=trusting.server("registry.example", "127.0.0.2")) as server:
        for host in ("127.0.0.1", "localhost"):
            assert "CERTIFICATE_VERIFY_FAILED" in refusal(fetch(server, host))
    assert server.requests == []


def test_a_certificate_of_yesterday_is_refused(trusting: Authority) -> None:
    with talking(answer(TEXT), tls=trusting.server("127.0.0.1", hours=-1)) as server:
        assert "expired" in refusal(fetch(server))
    assert server.requests == []


def test_a_server_without_tls_is_refused(trusting: Authority) -> None:
    def talk(peer: Peer) -> None:
        peer.socket.recv(10)
        peer.say(TEXT)

    with talking(talk) as server:
        assert "SSL" in refusal(fetch(server))


@pytest.mark.slow
def test_a_handshake_that_stalls_is_given_up(trusting: Authority) -> None:
    with talking(Peer.wait) as server:
        assert "no answer in time (ConnectTimeout)" in refusal(fetch(server, limits=IMPATIENT))


def test_an_answer_that_breaks_off_is_no_file(trusting: Authority) -> None:
    with talking(answer(TEXT[:-1]), tls=trusting.server("127.0.0.1")) as server:
        found = fetch(server)
    assert isinstance(found, FetchError)
    assert found.code == "fetch-truncated"


def test_a_folder_of_authorities_stands_in_for_a_file(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", str(authority.file.parent))
    assert trusted_authorities().get_ca_certs() == []  # read by name when a server presents a certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert len(trusted_authorities().get_ca_certs()) == 1


def test_authorities_that_cannot_be_read_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for file in (tmp_path / "none", tmp_path / "empty"):
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        found = HttpTransport("https://registry.example", ONCE).fetch_many([Request("head", 100)])[0]
        assert "authorities" in refusal(found)
        assert isinstance(found, FetchError)
        assert "SSL_CERT_FILE" in (found.hint or "")
        (tmp_path / "empty").touch()


def test_nothing_older_than_tls_1_2_is_spoken_and_names_are_checked() -> None:
    context = trusted_authorities()
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()


@pytest.mark.parametrize("address", ["http://127.0.0.1:8420/api/v1/", "HTTP://localhost"])
def test_plain_http_gets_no_authority_and_still_checks_servers(trusting: Authority, address: str) -> None:
    context = authorities_for(address)
    assert context.get_ca_certs() == []
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(authorities_for(address.lower().replace("http:", "https:")).get_ca_certs()) == 1


def test_a_client_for_plain_http_accepts_no_https_server(trusting: Authority) -> None:
    with talking(answer_all(TEXT), tls=trusting.server("127.0.0.1")) as server:
        with (
            httpx.Client(verify=authorities_for("http://127.0.0.1"), trust_env=False) as client,
            pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
        ):
            client.get(f"https://{server.place}/head")
        assert fetch(server) == b"text"
