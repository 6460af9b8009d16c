"""``JobStats``, added up trial by trial as Harbor does it (``models/job/result.py``: ``JobStats.increment``).

It lists every trial by reward and by exception, so what is to be listed waits in a file: memory stays the same
however many trials there are.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from proctor.kernel.canonical import Json
from proctor.reports.harbor.json_files import array, document, members

__all__ = ["StatsLedger"]

_REWARD: str = "reward"
_EXCEPTION: str = "exception"
_SUMS: tuple[str, ...] = ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")
"""Fields of ``AgentContext`` that ``JobStats`` adds up, over the trials that know them."""


@dataclass
class _Eval:
    """Trials of one agent, model and dataset. ``sums``: of the valid rewards by name."""

    n_trials: int = 0
    n_errors: int = 0
    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def metrics(self) -> list[Json]:
        """Harbor's mean (``metrics/base.py``): under its own name where there is one reward, else by name."""
        if not self.n_trials:
            return []
        means: dict[str, Json] = {name: total / self.n_trials for name, total in sorted(self.sums.items())}
        return [{"mean": next(iter(means.values()))} if len(means) == 1 else means]


class StatsLedger:
    """The sums of a job, with the lists behind them in a file of its own, which ``close`` removes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lists = sqlite3.connect(path)
        self._lists.execute("PRAGMA journal_mode = OFF")
        self._lists.execute("PRAGMA synchronous = OFF")
        self._lists.execute("CREATE TABLE listed (eval TEXT, kind TEXT, key TEXT, value TEXT, trial TEXT)")
        self._evals: dict[str, _Eval] = defaultdict(_Eval)
        self._totals: dict[str, float | int | None] = dict.fromkeys(_SUMS)
        self.trials = 0
        self.errored = 0
        self.cancelled = 0
        self.retries = 0

    def add(self, result: Mapping[str, Any], *, retries: int) -> None:
        """One trial, by its ``TrialResult``. ``retries``: attempts at its cell besides the one it is of."""
        name, where = result["trial_name"], _eval_name(result)
        exceptions = sorted({one["exception_type"] for one in _exceptions(result)})
        self.trials += 1
        self.retries += retries
        self._add_rewards(where, name, (result["verifier_result"] or {}).get("rewards") or {})
        self._list((where, _EXCEPTION, kind, "", name) for kind in exceptions)
        self._evals[where].n_errors += bool(exceptions)
        self.errored += bool(exceptions)
        self.cancelled += "cancelled" in exceptions
        for one in _SUMS:
            self._totals[one] = _sum(self._totals[one], result["agent_result"][one])

    def _add_rewards(self, where: str, trial: str, rewards: Mapping[str, float]) -> None:
        if not rewards:
            return
        self._evals[where].n_trials += 1
        for name, value in rewards.items():
            self._evals[where].sums[name] += value
        self._list((where, _REWARD, name, repr(float(value)), trial) for name, value in rewards.items())

    def _list(self, rows: Iterable[tuple[str, str, str, str, str]]) -> None:
        self._lists.executemany("INSERT INTO listed VALUES (?, ?, ?, ?, ?)", rows)

    def chunks(self, *, expected: int) -> Iterator[str]:
        """``JobStats`` as pieces of JSON. ``expected``: trials that there should be; the others are pending."""
        counts: dict[str, Json] = {
            "n_completed_trials": self.trials,
            "n_errored_trials": self.errored,
            "n_running_trials": 0,
            "n_pending_trials": max(expected - self.trials, 0),
            "n_cancelled_trials": self.cancelled,
            "n_retries": self.retries,
            **self._totals,
        }
        evals = ((name, self._eval(name)) for name in sorted(self._evals))
        return members([*((name, document(value)) for name, value in counts.items()), ("evals", members(evals))])

    def _eval(self, name: str) -> Iterator[str]:
        one = self._evals[name]
        return members(
            [
                ("n_trials", document(one.n_trials)),
                ("n_errors", document(one.n_errors)),
                ("metrics", document(one.metrics())),
                ("pass_at_k", document({})),
                ("reward_stats", self._rewards_of(name)),
                ("exception_stats", self._exceptions_of(name)),
            ]
        )

    def _rewards_of(self, name: str) -> Iterator[str]:
        by_key = groupby(self._listed(name, _REWARD), key=itemgetter(0))
        return members((key, _by_value(rows)) for key, rows in by_key)

    def _exceptions_of(self, name: str) -> Iterator[str]:
        by_kind = groupby(self._listed(name, _EXCEPTION), key=itemgetter(0))
        return members((kind, _trials(rows)) for kind, rows in by_kind)

    def _listed(self, name: str, kind: str) -> Iterator[tuple[str, str, str]]:
        query = "SELECT key, value, trial FROM listed WHERE eval = ? AND kind = ? ORDER BY key, value, rowid"
        with closing(self._lists.execute(query, (name, kind))) as rows:
            yield from rows

    def close(self) -> None:
        """Let go of the file; what was not written is gone."""
        self._lists.close()
        self._path.unlink(missing_ok=True)


def _by_value(rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    return members((value, _trials(group)) for value, group in groupby(rows, key=itemgetter(1)))


def _trials(rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    return array(json.dumps(trial) for _, _, trial in rows)


def _eval_name(result: Mapping[str, Any]) -> str:
    """``JobStats.format_agent_evals_key``."""
    agent, model = result["agent_info"]["name"], result["agent_info"]["model_info"]
    parts = [agent, result["source"]] if model is None else [agent, model["name"], result["source"]]
    return "__".join(parts)


def _exceptions(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """``TrialResult.recorded_exceptions``: the trial's and its steps'."""
    told = [result["exception_info"], *(step["exception_info"] for step in result["step_results"] or ())]
    return [one for one in told if one is not None]


def _sum(total: float | int | None, more: float | int | None) -> float | int | None:
    return total if more is None else more + (total or 0)
