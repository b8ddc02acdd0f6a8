"""Sign what `make release` made: `python -m making.sign_release FOLDER [KEY]`.

KEY is the name of one of your keys (`rye keys list`), in a file or in an ssh-agent; without it, the default key. The item gets
its signature line, so that `rye` verifies and publishes it. SHA256SUMS gets ``SHA256SUMS.sig`` by the same key in the form of
`ssh-keygen -Y sign` (OpenSSH's PROTOCOL.sshsig), so that `ssh-keygen -Y verify` suffices where there is no Rye yet, and
``signers`` has the line of the key for it.
"""

import base64
import hashlib
import os
import sys
from datetime import datetime
from pathlib import Path

from rye.cli.options import Session
from rye.signing.keys import PublicKey
from rye.signing.sign_item import sign_bytes
from rye.signing.signing_key import SigningKey
from rye.signing.ssh_wire import PLAIN, SECURITY_KEY, string
from rye.workspace.trusting.own_keys import OwnKeys

PURPOSE = "rye-release"
"""The namespace of the signature: it is valid for nothing else."""
WHO = "rye"


def ssh_signature(key: SigningKey, data: bytes) -> str:
    """The text of a ``.sig`` file over these bytes."""
    hashed = b"sha512"
    ending = string(PURPOSE.encode()) + string(b"") + string(hashed)
    signature = key.sign(b"SSHSIG" + ending + string(hashlib.sha512(data).digest()), "SHA256SUMS of a release of Rye")
    kind = PLAIN if len(signature) == 64 else SECURITY_KEY
    body = string(kind.encode()) + string(signature[:64]) + signature[64:]  # then a security key's flags and counter
    blob = b"SSHSIG" + (1).to_bytes(4, "big") + string(key.public.ssh.blob()) + ending + string(body)
    text = base64.b64encode(blob).decode("ascii")
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])


def signers_line(key: PublicKey) -> str:
    """The line for OpenSSH's file of allowed signers."""
    return f'{WHO} namespaces="{PURPOSE}" {key.ssh.line()}\n'


def sign_release(folder: Path, key: SigningKey, now: datetime) -> None:
    """Sign the item and the sums in a folder."""
    (item,) = folder.glob("rye-*.md")
    item.write_bytes(sign_bytes(item.read_bytes(), "knowledge", item.name, key, now))
    (folder / "SHA256SUMS.sig").write_text(ssh_signature(key, (folder / "SHA256SUMS").read_bytes()), encoding="utf-8")
    (folder / "signers").write_text(signers_line(key.public), encoding="utf-8")


if __name__ == "__main__":
    session = Session(environment=os.environ)
    keys = OwnKeys(session, lambda question: session.console.ask(question, hidden=True))
    key = keys.signing_key(sys.argv[2] if len(sys.argv) > 2 else None)
    sign_release(Path(sys.argv[1]), key, session.now())
    print(f"signed by {key.public.fingerprint}; for OpenSSH: {key.public.openssh_fingerprint}")
