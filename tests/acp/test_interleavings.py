"""Several threads of a client at one session, at random: whatever they do, all is answered, and nothing is lost.

`ACPAGENT_TEST_INTERLEAVINGS=n` plays that many, `ACPAGENT_TEST_SEED=n` begins at another seed than 0. A case that fails
is made smaller, and printed with its seed and all that was seen.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.acp.interleaving import Lab, Play
from tests.acp.scenarios import Scenario, scenario

USUAL = 60
COUNT = int(os.environ.get("ACPAGENT_TEST_INTERLEAVINGS", str(USUAL)))
FIRST_SEED = int(os.environ.get("ACPAGENT_TEST_SEED", "0"))
AT_ONCE = 4
BATCH = 50
SHRINKING_SECONDS = 60.0
TRIES = 3  # of a smaller case before it counts as one that does not fail


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.timeout(300 * max(1, COUNT // USUAL))
def test_random_interleavings(tmp_path: Path) -> None:
    seeds = range(FIRST_SEED, FIRST_SEED + COUNT)
    lab = Lab(tmp_path / "all")
    failed: Scenario | None = None
    try:
        lab.begin()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for start in range(0, len(seeds), BATCH):
                cases = [scenario(seed) for seed in seeds[start : start + BATCH]]
                stories = list(pool.map(lambda case: story(lab, case), cases))
                failed = next((case for case, told in zip(cases, stories, strict=True) if told), None)
                if failed:
                    break
                lab.rest()
    finally:
        if failed is None:
            lab.close()
        else:
            lab.abandon()
    if failed is not None:
        pytest.fail(shrunk(tmp_path, failed, next(filter(None, stories))), pytrace=False)


def story(lab: Lab, case: Scenario) -> str:
    """What went wrong, if anything did."""
    try:
        Play(lab, case).run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def shrunk(folder: Path, case: Scenario, told: str) -> str:
    """The story of the smallest case that was found to fail as well."""
    deadline = time.monotonic() + SHRINKING_SECONDS
    attempts = iter(range(1 << 30))
    candidates = case.smaller()
    while time.monotonic() < deadline and (smaller := next(candidates, None)) is not None:
        for _ in range(TRIES):
            again = alone(folder / f"attempt-{next(attempts)}", smaller)
            if again:
                case, told, candidates = smaller, again, smaller.smaller()
                break
    return told


def alone(folder: Path, case: Scenario) -> str:
    """The story of a case that has an agent of its own."""
    lab = Lab(folder)
    try:
        lab.begin()
        told = story(lab, case)
        if not told:
            lab.rest()
        return told
    except AssertionError as error:
        return f"{error}\n{case}"
    finally:
        lab.abandon()
