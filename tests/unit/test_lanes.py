"""Where cells wait: the fewest lanes that tell apart what has to be waited for."""

from __future__ import annotations

from proctor.engine.lanes import lane_of, limits_of
from proctor.engine.spec import check_spec
from proctor.kernel.ids import derived_id

RUN_SET = derived_id("run-set", "one")
FILE = {
    "name": "n",
    "suite": "s",
    "profiles": [{"name": "p", "agent": "noop", "model": "acme/one"}, {"name": "q", "agent": "noop"}],
    "limits": [{"provider": "acme", "concurrency": 2}, {"profile": "p", "per_minute": 30}],
}


def test_without_images_and_limits_the_lane_is_the_providers() -> None:
    assert lane_of("acme", [], []) == ("acme", ())


def test_cells_of_one_registry_share_a_lane_whatever_their_images() -> None:
    first, second = lane_of("acme", ["debian:12", "python:3"], []), lane_of("acme", ["alpine"], [])
    assert first == second == ("lane/acme + registry/docker.io", ("acme", "registry/docker.io"))


def test_limits_of_a_file_are_gates_of_its_run_set() -> None:
    spec = check_spec(FILE, where="f")
    keys = [limit.key(RUN_SET) for limit in limits_of(spec, "p", "acme")]
    assert keys == [f"limit/{RUN_SET}/provider/acme", f"limit/{RUN_SET}/profile/p"]
    assert lane_of("acme", [], keys).gates == ("acme", *keys)
    assert limits_of(spec, "q", "") == ()
