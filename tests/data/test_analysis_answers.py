"""What the functions answer with: frozen, and plain values wherever no column is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict

import numpy as np
import pytest

from proctor.analysis.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from proctor.analysis.alpha import Level
from proctor.analysis.cascades import confidence_threshold
from proctor.analysis.changes import level_changes, over_time
from proctor.analysis.distributions import describe, shift
from proctor.analysis.failures import by_text
from proctor.analysis.judges import Calibration, corrected_mean, corrected_rate, sampled_mean
from proctor.analysis.means import mean
from proctor.analysis.missing import Arm, bounds, loss_by_arm
from proctor.analysis.paired import compare, compare_all
from proctor.analysis.positions import length_controlled
from proctor.analysis.ratings import bradley_terry
from proctor.analysis.regressions import Scored, against_base
from proctor.analysis.repeats import pass_at_k
from proctor.analysis.segments import by_label, segments

DRAW = np.random.default_rng(3)
SCORES, OTHERS, PLACES = DRAW.random(60), DRAW.random(60), np.arange(60) // 3
PASSES, NAMES = (SCORES > 0.4).astype(float), [f"item {place}" for place in range(60)]
BASE = Scored(items=NAMES, scores=SCORES, clusters=PLACES, members={"half": np.arange(60) < 30})

ANSWERS: dict[str, Callable[[], object]] = {
    "mean": lambda: mean(SCORES, clusters=PLACES, weights=OTHERS + 1),
    "rate": lambda: mean(PASSES, clusters=PLACES),
    "paired": lambda: compare(SCORES, OTHERS, clusters=PLACES),
    "all": lambda: compare_all({"a": SCORES, "b": OTHERS})[0],
    "repeats": lambda: pass_at_k(np.full(60, 2), np.full(60, 4), 2),
    "ratings": lambda: bradley_terry(PLACES % 2, 2 + PLACES * 0, PASSES, clusters=PLACES),
    "kappa": lambda: cohen_kappa(PLACES % 3, PLACES % 2),
    "fleiss": lambda: fleiss_kappa([[2, 1], [1, 2], [3, 0]]),
    "alpha": lambda: krippendorff_alpha(np.round(np.column_stack([SCORES, OTHERS]), 1), Level.ORDINAL),
    "bounds": lambda: bounds(SCORES, missing=3),
    "loss": lambda: loss_by_arm({"a": Arm(scored=30, missing=10), "b": Arm(scored=20, missing=20)}),
    "segments": lambda: segments(SCORES, by_label(PLACES % 2))[0],
    "regression": lambda: against_base(BASE, Scored(items=NAMES, scores=OTHERS)),
    "failures": lambda: by_text(["a b", "a b", "c"])[0],
    "distribution": lambda: describe(SCORES),
    "shift": lambda: shift(SCORES, OTHERS),
    "period": lambda: over_time(PLACES, SCORES)[0],
    "change": lambda: level_changes(np.repeat([0.0, 1.0], 20) + SCORES[:40] / 10)[0],
    "rate of a judge": lambda: corrected_rate(
        0.4, 100, Calibration(specificity=0.8, sensitivity=0.9, failing=50, passing=50)
    ),
    "ppi": lambda: corrected_mean(SCORES, SCORES[:9], OTHERS[:9]),
    "sampled": lambda: sampled_mean(SCORES, OTHERS, OTHERS / 2 + 0.5),
    "length": lambda: length_controlled(PASSES, OTHERS),
    "threshold": lambda: confidence_threshold(np.full(60, 0.5), np.ones(60, dtype=bool), alpha=0.1),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_frozen_and_of_plain_values(name: str) -> None:
    """numpy's own scalars are no JSON."""
    answer = ANSWERS[name]()
    assert json.loads(json.dumps(asdict(answer), allow_nan=False))  # type: ignore[call-overload]
    with pytest.raises(FrozenInstanceError):
        setattr(answer, next(iter(asdict(answer))), None)  # type: ignore[call-overload]


def test_the_same_data_gives_the_same_answer() -> None:
    for name in ("alpha", "kappa", "change", "paired"):
        assert ANSWERS[name]() == ANSWERS[name]()
