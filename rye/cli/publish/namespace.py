"""``rye namespace``: who may publish under a name.

A keyset that needs more signatures than this machine can give is written to a file. Each owner runs ``rye namespace sign
FILE`` on their own machine, and the last one runs ``rye namespace submit FILE``.
"""

from __future__ import annotations

from rye.cli.main import family

keys = family(
    "keys",
    "Manage the keys of a namespace.",
    {
        "add": ("rye.cli.publish.namespace_keys:add", "Add a key."),
        "remove": ("rye.cli.publish.namespace_keys:remove", "Remove a key."),
    },
)
namespace = family(
    "namespace",
    "Manage who may publish under a name.",
    {
        "claim": ("rye.cli.publish.namespace_claim:claim", "Claim a namespace for your key."),
        "show": ("rye.cli.publish.namespace_show:show", "Show its keys and history."),
        "prove": ("rye.cli.publish.namespace_owners:prove", "Prove a domain or a repository of its owners."),
        "describe": ("rye.cli.publish.namespace_owners:describe", "Describe it, with links and contact."),
        "keys": ("rye.cli.publish.namespace:keys", "Add or remove keys."),
        "revoke": ("rye.cli.publish.namespace_keys:revoke", "Revoke a stolen key."),
        "recover": ("rye.cli.publish.namespace_recovery:recover", "Draft a recovery when all keys are lost."),
        "object": ("rye.cli.publish.namespace_recovery:object_", "Object to a pending recovery."),
        "sign": ("rye.cli.publish.namespace_files:sign", "Add your signature to a keyset file."),
        "submit": ("rye.cli.publish.namespace_files:submit", "Publish a keyset that enough owners signed."),
    },
)
