"""A bill of materials as CycloneDX 1.6, JSON. Pure. Without a time, the document has no timestamp."""

from __future__ import annotations

from urllib.parse import quote

from rye import __version__
from rye.installation.sbom import Bill, Component


def cyclonedx(bill: Bill) -> dict[str, object]:
    """Return the document."""
    root = f"project:{bill.project}"
    metadata: dict[str, object] = {
        "tools": {"components": [{"type": "application", "name": "rye", "version": __version__}]},
        "component": {"type": "application", "bom-ref": root, "name": bill.project},
    }
    if bill.time is not None:
        metadata = {"timestamp": bill.time, **metadata}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": bill.serial,
        "version": 1,
        "metadata": metadata,
        "components": [_component(each) for each in bill.components],
        "dependencies": [
            {"ref": root, "dependsOn": list(bill.direct)},
            *({"ref": each.ref, "dependsOn": list(each.needs)} for each in bill.components),
        ],
    }


def _component(each: Component) -> dict[str, object]:
    component: dict[str, object] = {"type": "library", "bom-ref": each.ref}
    if each.group:
        component["group"] = each.group
    component |= {"name": each.name, "version": each.version}
    if each.sha256 is not None:
        component["hashes"] = [{"alg": "SHA-256", "content": each.sha256}]
    component["purl"] = each.purl
    if each.properties:
        component["properties"] = [{"name": f"rye:{name}", "value": value} for name, value in each.properties]
    if each.files:
        component["components"] = [
            {
                "type": "file",
                "bom-ref": f"{each.ref}#{quote(entry.path)}",
                "name": entry.path,
                "hashes": [{"alg": "SHA-256", "content": entry.sha256}],
                "properties": [{"name": "rye:executable", "value": str(entry.executable).lower()}],
            }
            for entry in each.files
        ]
    return component
