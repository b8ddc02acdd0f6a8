"""A bill of materials as SPDX 2.3, JSON. Pure.

SPDX demands a time: without one it is the start of 1970, and a comment says so, so that the same content gives the same document.
It demands SHA-1 of files, which no lock has: attached files are packages with the purpose FILE, which their item contains.
"""

from __future__ import annotations

import hashlib

from rye import __version__
from rye.installation.sbom import Bill, Component

_DOCUMENT = "SPDXRef-DOCUMENT"
_UNKNOWN = "NOASSERTION"
_NO_TIME = "1970-01-01T00:00:00Z"


def spdx(bill: Bill) -> dict[str, object]:
    """Return the document."""
    root = _id(f"project:{bill.project}")
    creation: dict[str, object] = {"created": bill.time or _NO_TIME, "creators": [f"Tool: rye-{__version__}"]}
    if bill.time is None:
        creation["comment"] = "No time was given. --time or SOURCE_DATE_EPOCH gives one."
    project = _package(root, bill.project, bill.version, bill.supplier, "APPLICATION")
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": _DOCUMENT,
        "name": bill.project,
        "documentNamespace": bill.serial,
        "creationInfo": creation,
        "packages": [project, *(package for each in bill.components for package in _packages(each))],
        "relationships": [
            _related(_DOCUMENT, "DESCRIBES", root),
            *(_related(root, "DEPENDS_ON", _id(ref)) for ref in bill.direct),
            *(relation for each in bill.components for relation in _relations(each)),
        ],
    }


def _packages(each: Component) -> list[dict[str, object]]:
    name = f"{each.group}/{each.name}" if each.group else each.name
    package = _package(_id(each.ref), name, each.version, each.supplier, "LIBRARY", each.sha256)
    package["externalRefs"] = [
        {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": each.purl}
    ]
    if each.properties:
        package["comment"] = "\n".join(f"rye:{key}={_on_one_line(value)}" for key, value in each.properties)
    files = []
    for entry in each.files:
        file = _package(
            _id(f"{each.ref}#{entry.path}"), f"{name}/{entry.path}", each.version, each.supplier, "FILE", entry.sha256
        )
        files.append(file | {"comment": f"rye:executable={str(entry.executable).lower()}"})
    return [package, *files]


def _on_one_line(value: str) -> str:
    """A value without line breaks: a condition of a hook, which its publisher wrote, must not pass for a line of ours."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in value)


def _relations(each: Component) -> list[dict[str, str]]:
    own = _id(each.ref)
    return [
        *(_related(own, "DEPENDS_ON", _id(ref)) for ref in each.needs),
        *(_related(own, "CONTAINS", _id(f"{each.ref}#{entry.path}")) for entry in each.files),
    ]


def _package(
    spdx_id: str, name: str, version: str, supplier: str | None, purpose: str, sha256: str | None = None
) -> dict[str, object]:
    package: dict[str, object] = {
        "SPDXID": spdx_id,
        "name": name,
        "versionInfo": version,
        "supplier": _UNKNOWN if supplier is None else f"Organization: {supplier}",
        "downloadLocation": _UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": _UNKNOWN,
        "licenseDeclared": _UNKNOWN,
        "copyrightText": _UNKNOWN,
        "primaryPackagePurpose": purpose,
    }
    if sha256 is not None:
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": sha256}]
    return package


def _related(one: str, how: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other}


def _id(ref: str) -> str:
    """An identifier of letters and digits, the same wherever the same thing is named."""
    return f"SPDXRef-{hashlib.sha256(ref.encode()).hexdigest()[:32]}"
