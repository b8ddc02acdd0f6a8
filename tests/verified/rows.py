"""A row of rye.lock with everything that one can have, and the signed release that it is of."""

from __future__ import annotations

from msgspec.structs import replace

from rye.items.consented import HookAction, Run
from rye.items.signed_release import SignedRelease
from rye.project.lock import LockedFile, LockedItem

FILES = (LockedFile("a.md", 1, "01" * 32), LockedFile("b.py", 4, "ef" * 32, executable=True))
HOOK = HookAction("always", "tool", "acme/log", ())
RUN = Run("inline-command", "SKILL.md", "ls", "02" * 32)
ROW = LockedItem(
    kind="skill",
    id="acme/work/pdf",
    version="1.0.0",
    size=3,
    sha256="cd" * 32,
    suffix="SKILL.md",
    registry="registry.example",
    log=9,
    keyset=2,
    signer="SHA256:abc",
    attached=FILES,
    capabilities=("a", "b"),
    agent_tools=("Read", "Write"),
    agent_limits=("deny x", "deny y"),
    runs=(RUN,),
    hooks=(HOOK,),
)
SIGNED = SignedRelease(
    capabilities=ROW.capabilities,
    agent_tools=ROW.agent_tools,
    hooks=ROW.hooks,
    agent_limits=ROW.agent_limits,
    runs=ROW.runs,
    mentions=(),
)
OTHER_RUN = replace(RUN, action="rm")
OTHER_HOOK = replace(HOOK, when="never")
