"""Say who owns a namespace: prove a domain or a repository, take a proof back, describe the namespace.

The machine of whoever states a proof asks the place first, so that a mistake is explained before anything is signed; then the
registry asks it, and logs the statement only if it finds the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.registry.ownership import documents
from rye.registry.ownership.asking import PlaceAsking, check, is_on_loopback
from rye.registry.ownership.documents import RECORD_HOST, REPOSITORY_FILE, WELL_KNOWN, ProofCheck
from rye.registry.protocol import notes
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.statements import Description, OwnerProof, OwnerStatement
from rye.registry.protocol.statements.owners import (
    MAX_ABOUT_CHARACTERS,
    MAX_LINKS,
    is_loopback_place,
    read_contact,
    read_domain,
    read_link,
    read_repository,
)
from rye.registry.transport.api import ApiError
from rye.registry.trust.namespace_proofs import NamespaceOwners, StatedProof
from rye.workspace.new_file import write_new
from rye.workspace.publishing.owner_statements import (
    link_in_force,
    log_note,
    one_line,
    owner_key,
    owner_signer,
    statement_time,
)
from rye.workspace.registries.registry_access import configured, open_registry

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.registry.trust.keysets import Link
    from rye.signing.signing_key import SigningKey
    from rye.workspace.context import Context
    from rye.workspace.named_file import NamedFile
    from rye.workspace.trusting.own_keys import OwnKeys

_T = TypeVar("_T")


class ProofPlace(Struct, frozen=True):
    """What a proof is about: a domain, or the address of a repository."""

    text: str
    is_domain: bool

    @classmethod
    def of(cls, domain: str | None, repository: str | None) -> ProofPlace:
        """Read the place that a person named. Raises UsageError ``bad-argument``."""
        if (domain is None) == (repository is None):
            raise UsageError(
                "bad-argument",
                "Name one place that is yours.",
                "Give --domain DOMAIN or --repository URL.",
                what="address",
            )
        if domain is not None:
            plain = domain.strip().lower().removesuffix(".")
            return cls(_address(read_domain, plain, _hint_for_domain(plain)), True)
        assert repository is not None
        hint = "Give its address as a browser shows it: https://HOST/OWNER/NAME, without a final slash."
        return cls(_address(read_repository, repository.strip(), hint), False)


class Stated(Struct, frozen=True):
    """A statement in the log."""

    statement: OwnerStatement
    log: int


class CheckedProof(Struct, frozen=True):
    """A proof, and what this machine just saw at its place."""

    stated: StatedProof
    checked: ProofCheck


def prove(context: Context, keys: OwnKeys, namespace: str, place: ProofPlace, key_name: str | None) -> Stated:
    """Check the place from here, then state the proof. Raises RyeError ``proof-not-found``, ``proof-unreachable``."""
    address = configured(context).of(namespace)
    with open_registry(context, address, writes=True) as client:
        link = link_in_force(context, client, namespace)
        private = owner_key(keys, link.keyset, key_name)
        proof = OwnerProof(
            origin=client.origin,
            namespace=namespace,
            proved=True,
            method=_method(asking_of(address), namespace, place, link),
            place=place.text,
            keyset=link.keyset.number,
            fingerprint=link.sha256,
            time=statement_time(context),
        )
        try:
            return _send(context, client, proof, private)
        except ApiError as error:  # the registry saw something else than this machine, or neither saw anything
            if error.code not in ("proof-not-found", "proof-unreachable"):
                raise
            raise RyeError(error.code, error.message, _publish_hint(namespace, place, link)) from None


def withdraw(context: Context, keys: OwnKeys, namespace: str, place: ProofPlace, key_name: str | None) -> Stated:
    """State that a place no longer proves anything. Raises RyeError ``nothing-to-do``."""
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        link = link_in_force(context, client, namespace)
        private = owner_key(keys, link.keyset, key_name)
        known = [stated for stated in client.owners([namespace])[namespace].proofs if stated.proof.place == place.text]
        if not known:
            raise RyeError(
                "nothing-to-do",
                f"{namespace!r} has no proof of {place.text}.",
                f"`rye namespace show {namespace}` lists its proofs.",
            )
        proof = OwnerProof(
            origin=client.origin,
            namespace=namespace,
            proved=False,
            method=known[0].proof.method,
            place=place.text,
            keyset=link.keyset.number,
            fingerprint=link.sha256,
            time=statement_time(context),
        )
        return _send(context, client, proof, private)


def write_document(
    context: Context, keys: OwnKeys, namespace: str, place: ProofPlace, output: NamedFile, key_name: str | None
) -> None:
    """Write the file that the place must show: for a domain the well-known file, for a repository the signed file.

    Raises RyeError ``already-exists``.
    """
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        link = link_in_force(context, client, namespace)
        if place.is_domain:
            text = documents.well_known_file(namespace, link)
        else:
            private = owner_key(keys, link.keyset, key_name)
            statement = documents.repository_file(link, place.text)
            text = notes.sign(statement.text(), [owner_signer(client.origin, namespace, private)]).encode()
    write_new(output, text)


def describe(
    context: Context,
    keys: OwnKeys,
    namespace: str,
    about: str,
    links: Sequence[str],
    contact: str | None,
    key_name: str | None,
) -> Stated:
    """State what a namespace is for. It replaces the description before. Raises UsageError ``bad-argument``."""
    if len(links) > MAX_LINKS:
        raise UsageError("bad-argument", f"There are {len(links)} links; at most {MAX_LINKS}.", None, what="address")
    if len(about) > MAX_ABOUT_CHARACTERS:
        reason = f"The text has {len(about)} characters; at most {MAX_ABOUT_CHARACTERS}."
        raise UsageError("bad-argument", reason, "Say it shorter, and the rest behind a --link.", what="text")
    about = one_line("--text", about)
    shown = tuple({_address(read_link, link, "Give an address such as https://acme.example.") for link in links})
    if contact is not None:
        contact = contact if contact.startswith(("https:", "mailto:")) or "@" not in contact else f"mailto:{contact}"
        contact = _address(read_contact, contact, "Give mailto:NAME@DOMAIN or an https address.")
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        link = link_in_force(context, client, namespace)
        private = owner_key(keys, link.keyset, key_name)
        statement = Description(
            origin=client.origin,
            namespace=namespace,
            about=about,
            links=shown,
            contact=contact,
            keyset=link.keyset.number,
            time=statement_time(context),
        )
        return _send(context, client, statement, private)


def owners_of(context: Context, namespace: str) -> NamespaceOwners:
    """What a namespace's owners stated about themselves."""
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        return client.owners([namespace])[namespace]


def check_owners(client: RegistryClient, owners: NamespaceOwners) -> tuple[CheckedProof, ...]:
    """Ask the places of all proofs about the keyset in force, from this machine."""
    chain = client.keysets([owners.namespace])[owners.namespace]
    link = chain.current(client.head.snapshot.time)
    if link is None:
        return ()
    asking = asking_of(client.address)
    return tuple(
        CheckedProof(stated, check(asking, stated.proof.method, stated.proof.place, link)) for stated in owners.current
    )


def asking_of(address: str) -> PlaceAsking:
    """How places are asked for proofs of the registry at this address."""
    return PlaceAsking(loopback=is_on_loopback(address))


def _method(asking: PlaceAsking, namespace: str, place: ProofPlace, link: Link) -> str:
    """The method by which the place proves it. What cannot be reached from here, the registry may reach."""
    if not place.is_domain:
        checked = check(asking, "repository", place.text, link)
        if checked.outcome in ("found", "unreachable"):
            return "repository"
        raise RyeError("proof-not-found", _not_yet(namespace, place, checked), _publish_hint(namespace, place, link))
    by_file = check(asking, "file", place.text, link)
    if by_file.outcome == "found" or is_loopback_place(place.text):
        checked = by_file
    else:
        by_record = check(asking, "dns", place.text, link)
        if by_record.outcome == "found":
            return "dns"
        checked = ProofCheck(by_file.outcome, f"{by_file.detail} {by_record.detail}")
    if checked.outcome in ("found", "unreachable"):
        return "file"
    raise RyeError("proof-not-found", _not_yet(namespace, place, checked), _publish_hint(namespace, place, link))


def _not_yet(namespace: str, place: ProofPlace, checked: ProofCheck) -> str:
    return f"{place.text} does not prove that it has the owners of {namespace!r}: {checked.detail}"


def _publish_hint(namespace: str, place: ProofPlace, link: Link) -> str:
    """What the place must show, where, and the next command."""
    return _domain_hint(namespace, place, link) if place.is_domain else _repository_hint(namespace, place)


def shown_at(place: ProofPlace) -> str:
    """Where the file that :func:`write_document` writes must be seen."""
    scheme = "http" if is_loopback_place(place.text) else "https"
    if place.is_domain:
        return f"{scheme}://{place.text}{WELL_KNOWN}"
    return f"{REPOSITORY_FILE} at the root of the main branch of {place.text}"


def _domain_hint(namespace: str, place: ProofPlace, link: Link) -> str:
    file = documents.well_known_file(namespace, link).strip()
    record = documents.record(namespace, link)
    return (
        f"Publish this text at {shown_at(place)}: {file} "
        f"Or this TXT record of {RECORD_HOST}.{place.text}: {record} "
        f"Then run: rye namespace prove {namespace} --domain {place.text}"
    )


def _repository_hint(namespace: str, place: ProofPlace) -> str:
    command = f"rye namespace prove {namespace} --repository {place.text}"
    return (
        f"Write the file with `{command} -o {REPOSITORY_FILE}`, commit it at the root of the main branch, push, "
        f"and run the command again without -o."
    )


def _send(context: Context, client: RegistryClient, statement: OwnerStatement, signing_key: SigningKey) -> Stated:
    def is_there() -> bool:
        owners = client.owners([statement.namespace])[statement.namespace]
        if isinstance(statement, Description):
            return owners.description == statement
        known = [stated.proof for stated in owners.proofs if stated.proof.place == statement.place]
        return known == (
            [statement] if statement.proved else []
        )  # an earlier proof of the place, of former keys, is none

    note = notes.sign(statement.text(), [owner_signer(client.origin, statement.namespace, signing_key)])
    return Stated(statement, log_note(context, client, note.encode(), "statement", is_there))


def _address(read: Callable[[str], _T], text: str, hint: str) -> _T:
    try:
        return read(text)
    except StatementError as error:
        reason = error.message.removeprefix("Malformed statement: ")
        raise UsageError("bad-argument", reason[0].upper() + reason[1:], hint, what="address") from None


def _hint_for_domain(text: str) -> str:
    if not text.isascii():
        try:
            ascii_form = text.encode("idna").decode()
        except UnicodeError:
            return "Give the domain in its ASCII form, which begins with xn--."
        return f"Give the domain in its ASCII form, which Rye shows everywhere: {ascii_form}"
    return "Give a domain such as acme.example, without https:// and without a path."
