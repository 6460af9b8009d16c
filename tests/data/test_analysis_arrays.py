"""The extra: who needs it, and who must not."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import proctor.analysis
from proctor.analysis.arrays import column
from proctor.analysis.errors import AnalysisError, ScoresInvalid, StatsExtraMissing
from proctor.analysis.means import mean
from proctor.analysis.paired import compare
from proctor.analysis.segments import by_label, segments

PLAIN = {"errors", "extras", "findings", "intervals", "multiple", "power", "proportions", "significance"}
"""Modules of the core install."""


def test_the_engine_and_the_plain_modules_need_no_numpy() -> None:
    wanted = ["proctor.engine.leaderboards", "proctor.engine.gates", *(f"proctor.analysis.{name}" for name in PLAIN)]
    heavy = {"numpy", "scipy", "statsmodels", "evalica"}
    code = f"import sys, {', '.join(wanted)}; print(sorted(set(sys.modules) & {heavy!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["numpy", "scipy", "statsmodels", "evalica"])
def test_without_the_extra_every_other_module_names_it(missing: str) -> None:
    """In a process of its own: modules that are loaded stay loaded."""
    names = sorted({module.name for module in pkgutil.iter_modules(proctor.analysis.__path__)} - PLAIN)
    code = f"""
import importlib, sys
from proctor.analysis.errors import StatsExtraMissing
sys.modules[{missing!r}] = None
for name in {names!r}:
    try:
        importlib.import_module("proctor.analysis." + name)
    except StatsExtraMissing:
        print(name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == names
    assert "[stats]" in StatsExtraMissing().remedy


def test_every_error_has_the_one_root() -> None:
    errors = importlib.import_module("proctor.analysis.errors")
    assert all(issubclass(getattr(errors, name), AnalysisError) for name in errors.__all__)


def test_a_column_is_bounded() -> None:
    with pytest.raises(ScoresInvalid):
        column(np.zeros(10_000_001))
    with pytest.raises(ScoresInvalid):
        column([10**400, 1])


def test_a_million_scores_are_no_trouble() -> None:
    draw = np.random.default_rng(0)
    scores, other = draw.random(1_000_000), draw.random(1_000_000)
    clusters = draw.integers(0, 50_000, 1_000_000)
    seen = mean(scores, clusters=clusters, weights=other + 1)
    assert seen.error == pytest.approx(0.2887 / 1_000, rel=0.1)
    assert compare(scores, other, clusters=clusters).clusters == 50_000
    assert len(segments(scores, by_label(clusters % 20), clusters=clusters)) == 20
