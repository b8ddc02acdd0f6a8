"""``rye namespace prove`` and ``rye namespace describe``: who is behind a namespace."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.trust.own_keys import own_keys
from rye.registry.protocol.statements import OwnerProof
from rye.workspace.named_file import NamedFile
from rye.workspace.publishing import ownership
from rye.workspace.publishing.ownership import ProofPlace

_key = click.option("--key", "key_name", metavar="NAME", help="Sign with this key of yours (default: the default key).")


@command("prove")
@click.argument("namespace")
@click.option("--domain", metavar="DOMAIN", help="A domain of yours, such as acme.example.")
@click.option("--repository", metavar="URL", help="A public git repository of yours, by its https address.")
@click.option("-o", "--output", metavar="FILE", help="Only write the file that the place must show.")
@click.option("--withdraw", is_flag=True, help="Take back the proof of this place.")
@_key
@click.pass_obj
def prove(
    session: Session,
    namespace: str,
    domain: str | None,
    repository: str | None,
    output: str | None,
    withdraw: bool,
    key_name: str | None,
) -> None:
    """Prove that NAMESPACE and a domain or a repository have the same owners.

    The domain shows a file or a TXT record, the repository a signed file; each names the namespace and its keys. The first run
    says what to put there. Whenever the keys change, put the new text there and run the command again.
    """
    place = ProofPlace.of(domain, repository)
    keys = own_keys(session)
    if output is not None:
        ownership.write_document(session, keys, namespace, place, NamedFile(session.path(output), output), key_name)
        where = ownership.shown_at(place)
        written = {"namespace": namespace, "place": place.text, "file": output, "publish_at": where}
        session.console.answer(written, f"wrote {output}")
        of_domain = f"rye namespace prove {namespace} --domain {place.text}"
        of_repository = f"rye namespace prove {namespace} --repository {place.text}"
        session.console.say(f"Publish it as {where}.")
        session.console.say(f"Then run: {of_domain if place.is_domain else of_repository}", "hint")
        return
    act = ownership.withdraw if withdraw else ownership.prove
    stated = act(session, keys, namespace, place, key_name)
    assert isinstance(stated.statement, OwnerProof)
    document = {
        "namespace": namespace,
        "place": place.text,
        "method": stated.statement.method,
        "proved": stated.statement.proved,
        "log": stated.log,
    }
    verb = "proved" if stated.statement.proved else "withdrew"
    session.console.answer(document, f"{verb} {place.text} for {namespace}: entry {stated.log} of the log")


@command("describe")
@click.argument("namespace")
@click.option("--text", "about", metavar="TEXT", required=True, help="What it is for, in one line.")
@click.option("--link", "links", multiple=True, metavar="URL", help="A page about it; repeatable, at most 5.")
@click.option("--contact", metavar="ADDRESS", help="How to reach its owners: an e-mail address or a page.")
@_key
@click.pass_obj
def describe(
    session: Session, namespace: str, about: str, links: tuple[str, ...], contact: str | None, key_name: str | None
) -> None:
    """Describe NAMESPACE on its page, signed with your key. It replaces the description before."""
    stated = ownership.describe(session, own_keys(session), namespace, about, links, contact, key_name)
    document = {"namespace": namespace, "description": about, "log": stated.log}
    session.console.answer(document, f"described {namespace}: entry {stated.log} of the log")
