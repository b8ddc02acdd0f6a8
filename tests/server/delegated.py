"""For tests with the process that appends to the log: start it now, without a crowd."""

from __future__ import annotations

import subprocess

from registry_server.api import delegating
from registry_server.api.delegating import DelegatingSequencer
from registry_server.sequencer.sequencer import Sequencer


def handed_over(sequencer: Sequencer) -> subprocess.Popen[bytes]:
    """Start the process, which takes the next batch."""
    assert isinstance(sequencer, DelegatingSequencer)
    sequencer._may_start = True
    sequencer._started = -delegating.AGAIN_SECONDS * 2
    sequencer._start_soon()
    assert sequencer._starting is not None
    sequencer._starting.join(30)
    assert sequencer._ready is not None
    return sequencer._ready.process
