"""The published case of June as a folder of results: ``audit-june.json`` says how many cells there are of a kind."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

CASE: dict[str, Any] = json.loads(Path(__file__).with_name("audit-june.json").read_text(encoding="utf-8"))
SUITE, LEGACY = "terminal-bench-2", "terminal-bench-core"
RULES = f"""suites = ["{LEGACY}"]
[[variants]]
pattern = '(p\\d\\d)__thinking-high'
profile = '\\1'
"""
TASK = """schema_version = "1.4"
[task]
name = "june/task-{number:02d}"
[metadata.proctor]
verification = "snapshot"
"""
OWED = (
    {"source": "provider", "http_status": 429, "failed": True},
    {"source": "provider", "http_status": 401, "failed": True},
    {"source": "registry", "failed": True},
)


def profiles() -> list[str]:
    return [f"p{number:02d}" for number in range(CASE["profiles"])]


def write_suite(folder: Path) -> None:
    for number in range(CASE["tasks"]):
        task = folder / f"task-{number:02d}"
        (task / "tests").mkdir(parents=True)
        (task / "task.toml").write_text(TASK.format(number=number), encoding="utf-8")
        (task / "instruction.md").write_text(f"Do {number}.\n", encoding="utf-8")
        (task / "tests" / "test.sh").write_text("true\n", encoding="utf-8")


def write_results(folder: Path) -> None:
    folder.mkdir(parents=True)
    entries = "".join(f'[[profiles]]\nname = "{name}"\nagent = "loop"\n' for name in profiles())
    head = f'format = "proctor-results-1"\nname = "june"\nsuite = "{SUITE}"\n'
    (folder / "results.toml").write_text(head + entries, encoding="utf-8")
    with (folder / "attempts.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in attempts())


def cells() -> dict[tuple[str, int], str]:
    """The kind of every cell. Once the 36 profiles have their legacy cells back, each of them is covered."""
    rng = random.Random(6)
    part, legacy = CASE["partition"], CASE["recoverable_by_metadata_repair"]["legacy_suite_name"]["profiles"]
    terminal = CASE["terminal_results_not_linked"]
    names, tasks = profiles(), range(CASE["tasks"])
    covered = [(name, task) for name in names[:legacy] for task in tasks]
    variant = [(name, task) for name in names[legacy : legacy + 3] for task in tasks]
    rest = [(name, task) for name in names[legacy + 3 :] for task in tasks]
    rng.shuffle(covered)
    rng.shuffle(variant)
    linked_terminal = len(covered) - part["legacy_suite"] - part["linked_verdicts"]
    verdicts = ["terminal_passed"] * terminal["passed"] + ["terminal_failed"] * terminal["failed"]
    rng.shuffle(verdicts)
    kinds = ["legacy"] * part["legacy_suite"] + ["linked"] * part["linked_verdicts"] + verdicts[:linked_terminal]
    found = dict(zip(covered, kinds, strict=True))
    found |= dict.fromkeys(variant[: part["encoded_variant"]], "variant")
    left = [*variant[part["encoded_variant"] :], *rest]
    kinds = [*verdicts[linked_terminal:], *["broken"] * terminal["verifier_error"], *["owed"] * part["no_verdict"]]
    return found | dict(zip(left, kinds, strict=True))


def terminal_cells() -> list[tuple[str, int]]:
    return [cell for cell, kind in cells().items() if kind.startswith("terminal")]


def attempts() -> Iterator[dict[str, Any]]:
    """So many attempts in all: some that a provider or registry ended, then one that decides, where there is one."""
    found = cells()
    each, more = divmod(CASE["attempts_stored"], len(found))
    numbers = count()
    for (profile, task), kind in found.items():
        total = each + (next(numbers) < more)
        names = {"suite": LEGACY if kind == "legacy" else SUITE, "profile": profile, "task": f"june/task-{task:02d}"}
        if kind == "variant":
            names["profile"] = f"{profile}__thinking-high"
        for number in range(1, total + 1):
            yield {**names, **_attempt(kind, number, last=number == total, task=task)}


def _attempt(kind: str, number: int, *, last: bool, task: int) -> dict[str, Any]:
    times = {"started_at": "2026-06-01T00:00:00Z", "ended_at": "2026-06-01T00:05:00Z", "attempt": number}
    if not last or kind == "owed":
        return {**times, "evidence": [{"phase": "agent", "detail": OWED[(task + number) % len(OWED)]}]}
    ended = {**times, "evidence": [{"phase": "agent", "detail": {"exit_code": 0}}]}
    if kind == "broken":
        return {**ended, "problem": "verifier_timeout"}
    passed = kind == "terminal_passed" or (kind != "terminal_failed" and task % 2 == 0)
    return {**ended, "rewards": {"reward": float(passed)}}
