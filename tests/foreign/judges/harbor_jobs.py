"""Harbor's models, sums and viewer over a job directory: its folder in; what they made of every file out.

A file that a model refuses raises. ``stats`` are Harbor's own, added up again from the trials.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from fastapi.testclient import TestClient
from harbor.metrics.mean import Mean
from harbor.models.job.config import JobConfig
from harbor.models.job.lock import JobLock, TrialLock
from harbor.models.job.result import JobResult, JobStats
from harbor.models.task.config import MultiStepRewardStrategy
from harbor.models.trajectories import Trajectory
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult
from harbor.trial.trial import Trial
from harbor.viewer.scanner import JobScanner
from harbor.viewer.server import create_app


def read(model, path):
    return model.model_validate_json(path.read_bytes())


def again(result):
    """The rewards of a trial with steps, by Harbor's own rule over the steps that it was given."""
    task = SimpleNamespace(config=SimpleNamespace(multi_step_reward_strategy=MultiStepRewardStrategy.MEAN))
    trial = SimpleNamespace(result=result, task=task)
    trial._aggregate_step_rewards = lambda: Trial._aggregate_step_rewards(trial)
    read = Trial._select_multi_step_reward(trial)
    return None if read is None else read.rewards


def told(folder):
    result = read(TrialResult, folder / "result.json")
    assert read(TrialConfig, folder / "config.json") == result.config
    trajectory = folder / "agent" / "trajectory.json"
    return result, {
        "name": result.trial_name,
        "task": result.task_name,
        "agent": result.agent_info.name,
        "rewards": result.verifier_result.rewards if result.verifier_result else None,
        "again": again(result) if result.step_results else None,
        "valid": result.reward_valid,
        "exception": result.exception_info.exception_type if result.exception_info else None,
        "cost": result.compute_token_cost_totals()[3],
        "trajectory": read(Trajectory, trajectory).agent.name if trajectory.exists() else None,
        "lock": read(TrialLock, folder / "lock.json").task.digest,
    }


def views(job):
    """What the viewer's server answers for the job and each of its trials."""
    client = TestClient(create_app(job.parent))
    asked = [f"/api/jobs/{job.name}", f"/api/jobs/{job.name}/trials?page_size=100", f"/api/jobs/{job.name}/tasks"]
    for trial in JobScanner(job.parent).list_trials(job.name):
        base = f"/api/jobs/{job.name}/trials/{trial}"
        asked += [base, *(f"{base}/{what}" for what in ("trajectory", "verifier-output", "agent-logs", "files"))]
    answers = {url: client.get(url) for url in asked}
    trials = [one for url, answer in answers.items() if "?page_size" in url for one in answer.json()["items"]]
    return sorted({answer.status_code for answer in answers.values()}), {one["name"]: one["reward"] for one in trials}


job = Path(json.load(sys.stdin))
scanner = JobScanner(job.parent)
assert scanner.get_job_config(job.name) is not None
assert scanner.get_job_result(job.name) is not None
config, lock, result = (
    read(model, job / f"{name}.json")
    for model, name in ((JobConfig, "config"), (JobLock, "lock"), (JobResult, "result"))
)
results, trials = zip(*(told(job / name) for name in scanner.list_trials(job.name)), strict=True)
stats = JobStats.from_trial_results(list(results), n_total_trials=result.n_total_trials)
for key, one in stats.evals.items():
    rewards = [
        each.verifier_result.rewards
        for each in results
        if each.reward_valid and JobStats.format_agent_evals_key(each.agent_info.name, None, each.source) == key
    ]
    one.metrics = [Mean().compute(rewards)] if rewards else []
codes, viewed = views(job)
json.dump(
    {
        "job": config.job_name,
        "agents": [agent.name for agent in config.agents],
        "tasks": len(config.tasks),
        "locks": sorted(one.task.digest for one in lock.trials),
        "trials": trials,
        "stats": [json.loads(one.model_dump_json()) for one in (result.stats, stats)],
        "viewer": {"codes": codes, "rewards": viewed},
    },
    sys.stdout,
)
