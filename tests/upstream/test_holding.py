"""When the log of another registry was last seen without a release, however fast it grows."""

from __future__ import annotations

import pytest

from registry_server.upstream.holding import with_seen

DAY = 86400


@pytest.mark.parametrize("every", [30, 3600])
def test_no_number_of_heads_makes_a_release_older_than_it_is(every: int) -> None:
    """An attacker lets the log grow with every head, so that the one before a release that is dated back is forgotten."""
    seen: list[tuple[int, int]] = []
    times = range(0, 4 * DAY, every)
    for size, now in enumerate(times, 1):
        seen = with_seen(seen, size, now)
    for size, time in enumerate(times, 1):
        remembered = max(at for known, at in seen if known <= size)
        assert time <= remembered <= time + (times[-1] - time) / 16, size
    assert len(seen) < 300


def test_a_quiet_log_is_one_head_with_its_last_time() -> None:
    seen = with_seen([(7, 0)], 7, 10 * DAY)
    assert seen == [(7, 10 * DAY)]
    assert with_seen(seen, 8, 11 * DAY) == [(7, 10 * DAY), (8, 11 * DAY)]  # the control
