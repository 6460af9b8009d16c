"""Analyses of evaluation jobs on real results: what each number is, checked by hand, by SQL and by scipy."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from scipy import stats

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.findings import Finding
from proctor.analysis.power import Design
from proctor.datasets.reading import local_parts
from proctor.datasets.versions import DatasetVersion
from proctor.jobs.analyses.figures import JobReport, SectionKind
from proctor.jobs.analyses.telling import literal
from proctor.jobs.analyses.values import By
from proctor.jobs.errors import JobInvalid, JobUnknown
from proctor.jobs.values import Job
from proctor.kernel.paths import FileTaken
from proctor.objects.store import ObjectStore
from proctor.reports.job_report import SUFFIXES, write_report
from proctor.sdk.analyses import JobAnalyses
from proctor.sdk.documents import document
from tests.data.desk import Desk

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue")]


def yes(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"e{n}", "input": "x", "expected": "yes", **more} for n in range(count)]


def judged(desk: Desk, name: str, passes: Sequence[bool | None], *evaluators: str, dataset: str = "capitals") -> Job:
    """A job over one output an example: right, wrong, or none."""
    rows = [
        {"id": f"e{n}", "status": "refused"} if right is None else {"id": f"e{n}", "output": "yes" if right else "no"}
        for n, right in enumerate(passes)
    ]
    desk.outputs(rows, name=name, dataset=dataset)
    job = desk.submit(*evaluators, samples=name, dataset=dataset, name=f"{name} job")
    desk.work(job)
    return job


@pytest.fixture
def analyses(desk: Desk) -> JobAnalyses:
    return JobAnalyses(desk.platform)


# --- two jobs ---------------------------------------------------------------------------------------------------------


def test_two_jobs_are_paired_by_example_and_what_is_left_out_is_counted(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(40))
    ours = [n % 2 == 0 for n in range(36)] + [True, None, None, None]
    theirs = [n % 4 == 0 for n in range(36)] + [None, True, True, None]
    a, b = judged(desk, "new", ours), judged(desk, "base", theirs)
    told = analyses.compare("new job", "base job")
    (exact,) = told.evaluators
    assert (told.a.id, told.b.id, told.paired_by, told.regression) == (a.id, b.id, "row", None)
    assert exact.examples == 36
    assert exact.same_evaluator
    left = exact.left_out
    assert (left.only_a, left.only_b, left.neither, left.absent_a, left.repeats_a) == (1, 2, 1, 0, 0)
    found = exact.difference
    assert found is not None
    assert (found.mean, found.mean_a, found.mean_b) == (pytest.approx(0.25), 0.5, 0.25)
    assert (found.better, found.worse, found.test) == (9, 0, "McNemar, exact")
    assert found.p == pytest.approx(stats.binomtest(9, 9, 0.5).pvalue)
    assert found.p_adjusted == found.p
    assert found.error == pytest.approx(stats.sem([(n % 2 == 0) - (n % 4 == 0) for n in range(36)]))
    assert found.detectable == pytest.approx((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * found.error)
    assert found.finding is Finding.BETTER


def test_a_verdict_needs_a_margin_and_says_which_way(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(40))
    judged(desk, "new", [n % 4 == 0 for n in range(40)])
    judged(desk, "base", [n % 2 == 0 for n in range(40)])
    down = analyses.compare("new job", "base job", margin=0.0)
    assert (down.regression, down.evaluators[0].difference.finding) == (True, Finding.WORSE)  # type: ignore[union-attr]
    assert analyses.compare("base job", "new job", margin=0.0).regression is False
    allowed = analyses.compare("new job", "base job", margin=0.6)
    assert (allowed.regression, allowed.evaluators[0].difference.finding) == (  # type: ignore[union-attr]
        False,
        Finding.NO_WORSE,
    )
    for wrong in ({"margin": -0.1}, {"margin": float("nan")}, {"alpha": 1.0}):
        with pytest.raises(ScoresInvalid):
            analyses.compare("new job", "base job", **wrong)


def test_p_values_of_several_evaluators_are_adjusted_by_holm(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(20))
    judged(desk, "new", [True] * 20, "exact-match", "edit-distance")
    judged(desk, "base", [n > 6 for n in range(20)], "exact-match", "edit-distance", "contains")
    told = analyses.compare("new job", "base job")
    assert (told.only_a, told.only_b) == ((), ("contains",))
    first, second = (one.difference for one in told.evaluators)
    assert first is not None
    assert second is not None
    assert first.p == 2 / 2**7
    assert sorted((first.p_adjusted, second.p_adjusted))[0] == pytest.approx(2 * min(first.p, second.p))
    named = analyses.compare("new job", "base job", evaluators=["exact-match"]).evaluators
    assert [one.difference.p_adjusted for one in named if one.difference] == [first.p]
    with pytest.raises(JobInvalid, match="was not judged by 'contains'"):
        analyses.compare("new job", "base job", evaluators=["contains"])


def test_repeats_count_as_one_example_however_many_there_are(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(6))
    passes = [2, 2, 0, 1, 2, 0]
    rows = [
        {"id": f"e{n}", "repeat": repeat, "output": "yes" if repeat < right else "no"}
        for n, right in enumerate(passes)
        for repeat in range(2)
    ]
    rows[-1] = {"id": "e5", "repeat": 1, "status": "refused"}
    desk.outputs(rows, name="new")
    desk.work(desk.submit(samples="new", name="new job"))
    judged(desk, "base", [False] * 6)
    (exact,) = analyses.compare("new job", "base job").evaluators
    assert (exact.examples, exact.left_out.repeats_a, exact.left_out.repeats_b) == (6, 1, 0)
    assert exact.difference is not None
    means = [1.0, 1.0, 0.0, 0.5, 1.0, 0.0]
    assert exact.difference.mean == pytest.approx(sum(means) / 6)
    assert exact.difference.error == pytest.approx(stats.sem(means))
    assert exact.difference.test.startswith("sign-flip")


def test_jobs_of_different_versions_pair_by_example_id(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(5))
    judged(desk, "base", [True, True, False, False, None])
    desk.dataset([*reversed(yes(4)), {"id": "fresh", "input": "x", "expected": "yes"}])
    desk.outputs([{"id": f"e{n}", "output": "yes"} for n in range(4)] + [{"id": "fresh", "output": "yes"}], name="new")
    desk.work(desk.submit(samples="new", name="new job"))
    told = analyses.compare("new job", "base job")
    assert (told.paired_by, told.a.dataset, told.b.dataset) == ("example", "capitals@1.1.0", "capitals@1.0.0")
    (exact,) = told.evaluators
    left = exact.left_out
    assert (exact.examples, left.only_a, left.only_b, left.neither) == (4, 1, 0, 0)
    assert (left.absent_a, left.absent_b) == (1, 1)
    assert exact.difference is not None
    assert exact.difference.mean == 0.5
    moved = analyses.moved("new job", "base job")
    assert [(one.example, one.row_b, one.a, one.b) for one in moved] == [("e2", 2, 1.0, 0.0), ("e3", 3, 1.0, 0.0)]
    assert {one.row_a for one in moved} == {
        row["row"] for row in desk.rows(desk.service.job("new job")) if row["example"] in ("e2", "e3")
    }


def test_what_moved_comes_in_pages_the_largest_drops_first(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(9))
    judged(desk, "new", [n >= 4 for n in range(9)])
    judged(desk, "base", [n < 7 for n in range(9)])
    whole = analyses.moved("new job", "base job")
    assert [(one.row_a, one.a - one.b) for one in whole] == [*((n, -1) for n in range(4)), (7, 1), (8, 1)]
    pages = [analyses.moved("new job", "base job", after=after, limit=4) for after in (-1, 3, 5)]
    assert [one for page in pages for one in page] == whole
    assert [len(page) for page in pages] == [4, 2, 0]


def test_what_can_not_be_compared_is_refused_or_said(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(3))
    judged(desk, "new", [True, None, None])
    judged(desk, "base", [False, True, None])
    judged(desk, "other", [True, True, True], "contains")
    (exact,) = analyses.compare("new job", "base job", margin=0.0).evaluators
    assert (exact.examples, exact.difference) == (1, None)
    assert exact.undefined == "One example says nothing about how examples differ."
    judged(desk, "nothing", [None, None, None])
    (exact,) = analyses.compare("nothing job", "base job").evaluators
    assert (exact.examples, exact.left_out.only_b, exact.left_out.neither) == (0, 2, 1)
    assert exact.undefined == "There are no scores."
    with pytest.raises(JobInvalid, match="with another one"):
        analyses.compare("new job", "new job")
    with pytest.raises(JobInvalid, match="no evaluator in common"):
        analyses.compare("new job", "other job")
    with pytest.raises(JobUnknown):
        analyses.compare("new job", "gone")


# --- one job ----------------------------------------------------------------------------------------------------------


def test_segments_are_of_the_dataset_version_and_corrected(desk: Desk, analyses: JobAnalyses) -> None:
    hostile = "'; DROP VIEW results; --<script>"
    tags = [["both", "even"] if n % 2 == 0 else ["both", hostile] for n in range(20)]
    examples = [
        {**one, "tags": tags[n], **({"difficulty": "hard" if n < 8 else "easy"} if n < 16 else {}), "source": "s"}
        for n, one in enumerate(yes(20))
    ]
    desk.dataset(examples)
    job = judged(desk, "new", [n % 2 == 0 for n in range(19)] + [None])
    (by_tag,) = analyses.segments("new job")
    found = {part.label: part for part in by_tag.parts}
    assert set(found) == {"both", "even", hostile}
    assert (found["even"].average.mean, found["even"].average.items) == (1.0, 10)
    assert (found[hostile].average.mean, found[hostile].difference) == (0.0, -1.0)
    assert (found["both"].difference, found["both"].p) == (None, None)
    even = found["even"]
    assert even.p is not None
    assert even.p_adjusted == pytest.approx(2 * even.p)
    (by_difficulty,) = analyses.segments(str(job.id), By.DIFFICULTY, evaluators=["exact-match"])
    assert [(part.label, part.average.items) for part in by_difficulty.parts] == [("easy", 8), ("hard", 8)]
    assert by_difficulty.unlabelled == 3
    (by_source,) = analyses.segments("new job", By.SOURCE)
    assert [(part.label, part.average.items) for part in by_source.parts] == [("s", 19)]


def test_a_job_without_labels_or_scores_has_no_parts(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(3))
    judged(desk, "new", [True, False, None])
    (found,) = analyses.segments("new job")
    assert (found.parts, found.unlabelled) == ((), 2)
    desk.dataset(yes(3, tags=["t"]), name="tagged")
    judged(desk, "none", [None, None, None], dataset="tagged")
    (found,) = analyses.segments("none job")
    assert (found.parts, found.unlabelled) == ((), 0)


def test_failures_are_told_by_status_and_by_what_they_say(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset([*yes(5), *({"id": f"m{n}", "input": "x"} for n in range(3))])
    outputs: list[dict[str, Any]] = [{"id": f"e{n}", "output": "yes"} for n in range(3)]
    outputs += [{"id": f"m{n}", "output": "yes"} for n in range(3)]
    desk.outputs([*outputs, {"id": "e3", "status": "refused"}, {"id": "e4", "status": "refused"}])
    desk.work(desk.submit("exact-match", "contains", name="new job"))
    told = analyses.failures("new job")
    assert (told.failures, told.not_evaluated) == (10, 0)
    assert [(one.label, one.count, one.examples) for one in told.by_status] == [
        ("invalid_example", 6, ("m0", "m1", "m2")),
        ("refused", 4, ("e3", "e4")),
    ]
    assert sum(one.count for one in told.by_text) == told.read
    assert told.by_text[0].count == 6
    assert "expected" in told.by_text[0].label
    assert told.by_text[0].examples == ("m0", "m1", "m2")
    assert analyses.failures("new job", evaluator="contains").failures == 5
    waiting = desk.submit(name="waiting")
    untouched = analyses.failures(str(waiting.id), evaluator="exact-match")
    assert (untouched.failures, untouched.not_evaluated, untouched.by_status) == (0, 8, ())


def test_a_distribution_is_what_the_scores_are(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(10))
    judged(desk, "new", [n < 7 for n in range(9)] + [None])
    (found,) = analyses.distribution("new job")
    assert (found.count, found.low, found.high) == (9, 0.0, 1.0)
    assert sum(found.counts) == 9
    assert (found.counts[0], found.counts[-1], found.quantiles["0.5"]) == (2, 7, 1.0)
    judged(desk, "none", [None] * 10)
    (nothing,) = analyses.distribution("none job")
    assert (nothing.count, nothing.low, nothing.undefined) == (0, None, "There are no scores.")


def test_repeats_are_pass_at_k_and_pass_hat_k(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(3))
    rows = [
        {"id": f"e{n}", "repeat": repeat, "output": "yes" if repeat < right else "yet"}
        for n, right in enumerate([4, 2, 0])
        for repeat in range(4)
    ]
    desk.outputs(rows)
    desk.work(desk.submit("exact-match", "edit-distance", name="new job"))
    exact, distance = analyses.repeats("new job", [1, 2, 4])
    assert [(one.k, round(one.any.mean, 6), round(one.all.mean, 6)) for one in exact.chances] == [
        (1, 0.5, 0.5),
        (2, round((1 + 5 / 6) / 3, 6), round((1 + 1 / 6) / 3, 6)),
        (4, round(2 / 3, 6), round(1 / 3, 6)),
    ]
    assert distance.chances == ()
    assert "neither 0 nor 1" in (distance.undefined or "")
    with pytest.raises(StatisticUndefined, match="3 tasks have fewer than 5 trials"):
        analyses.repeats("new job", [5], evaluators=["exact-match"])
    with pytest.raises(ScoresInvalid, match="neither 0 nor 1"):
        analyses.repeats("new job", evaluators=["edit-distance"])
    for wrong in ([], [1] * 21, [1001]):
        with pytest.raises(JobInvalid):
            analyses.repeats("new job", wrong)


def test_evaluators_agree_as_raters_do(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(12))
    outputs = ["yes" if n < 5 else "yes, I think" if n < 8 else "no" for n in range(11)]
    desk.outputs([{"id": f"e{n}", "output": text} for n, text in enumerate(outputs)])
    desk.work(desk.submit("exact-match", "token-f1", "edit-distance", name="new job"))
    told = analyses.agreement("new job", evaluators=["exact-match", "token-f1"], level="nominal", decimals=0)
    import krippendorff

    by_name = {
        name: [r["score"] for r in desk.rows(desk.service.job("new job")) if r["evaluator"] == name]
        for name in ("exact-match", "token-f1")
    }
    ratings = [[float("nan") if score is None else round(score) for score in by_name[name]] for name in by_name]
    expected = krippendorff.alpha(reliability_data=ratings, level_of_measurement="nominal")
    assert told.alpha.value == pytest.approx(expected)
    assert (told.level, told.decimals, told.alpha.items) == ("nominal", 0, 11)
    ((pair),) = told.kappas
    assert (pair.a, pair.b, pair.kappa.items) == ("exact-match", "token-f1", 11)
    three = analyses.agreement("new job", decimals=2)
    assert (three.level, len(three.kappas)) == ("interval", 3)
    for wrong in ({"evaluators": ["exact-match"]}, {"level": "mood"}, {"decimals": 3}):
        with pytest.raises(JobInvalid):
            analyses.agreement("new job", **wrong)


def test_a_history_is_in_the_order_of_time_and_finds_the_change(desk: Desk, analyses: JobAnalyses) -> None:
    desk.dataset(yes(10))
    jobs = []
    for number in range(12):
        desk.outputs(
            [
                {"id": f"e{n}", "output": "yes" if n < (8 if number < 6 else 3) + number % 2 else "no"}
                for n in range(10)
            ],
            name=f"o{number}",
        )
        jobs.append(desk.submit(samples=f"o{number}", name="nightly"))
        desk.work(jobs[-1])
    told = analyses.history(["nightly"])
    (series,) = told.series
    assert told.same_version
    assert [one.job.id for one in series.moments] == [job.id for job in jobs]
    assert series.moments[1].average is not None
    assert series.moments[1].average.mean == 0.9
    (turn,) = series.changes
    assert (turn.job, round(turn.before, 3), round(turn.after, 3)) == (jobs[6].id, 0.85, 0.35)
    some = analyses.history([str(jobs[3].id), str(jobs[1].id), str(jobs[3].id)])
    assert [one.job.id for one in some.series[0].moments] == [jobs[1].id, jobs[3].id]
    with pytest.raises(JobInvalid, match="None of the jobs"):
        analyses.history(["nightly"], evaluators=["bleu"])
    with pytest.raises(JobUnknown):
        analyses.history(["nightly", "gone"])


def test_power_is_that_of_millers_example(analyses: JobAnalyses) -> None:
    plan = analyses.power(Design(between=1 / 9), difference=0.03, items=None)
    assert (plan.needed, plan.detectable, plan.found) == (969, None, None)
    both = analyses.power(Design(between=1 / 9), difference=0.03, items=969)
    assert both.found == pytest.approx(0.8, abs=0.001)
    assert both.detectable == pytest.approx(0.03, abs=1e-4)
    with pytest.raises(StatisticUndefined, match="Neither"):
        analyses.power(Design(between=1 / 9), difference=None, items=None)


def test_a_label_belongs_to_its_row_whatever_part_it_is_kept_in(
    desk: Desk, analyses: JobAnalyses, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a million rows takes long to make: the one part is cut into three, and read as such."""
    desk.dataset([{**one, "tags": ["late"] if n >= 40 else []} for n, one in enumerate(yes(50))])
    judged(desk, "new", [n >= 40 for n in range(50)])

    def cut(objects: ObjectStore, version: DatasetVersion, folder: Path) -> list[Path]:
        (whole,) = local_parts(objects, version, folder)
        table = parquet.read_table(whole)
        files = [folder / f"{start}.parquet" for start in range(0, 50, 20)]
        for number, file in enumerate(files):
            parquet.write_table(table.slice(20 * number, 20), file)
        return files

    monkeypatch.setattr("proctor.jobs.analyses.books.local_parts", cut)
    monkeypatch.setattr("proctor.jobs.analyses.books.PART_ROWS", 20)
    (found,) = analyses.segments("new job")
    assert [(part.label, part.average.mean, part.average.items) for part in found.parts] == [("late", 1.0, 10)]
    assert found.unlabelled == 40


# --- reports ----------------------------------------------------------------------------------------------------------

HOSTILE = "'; DROP VIEW results; -- <script>alert(1)</script> ```|"


def told_report(desk: Desk, analyses: JobAnalyses) -> JobReport:
    """Of a job whose tags are an attack, compared with one of another version."""
    examples = [
        {**one, "tags": [HOSTILE] if n % 3 else ["t"], "difficulty": "hard" if n < 4 else "easy"}
        for n, one in enumerate(yes(12))
    ]
    desk.dataset(examples)
    judged(desk, "base", [n < 8 for n in range(12)], "exact-match", "edit-distance")
    desk.dataset([*examples, {"id": "lacks", "input": "x"}])
    desk.outputs(
        [{"id": f"e{n}", "repeat": r, "output": "yes" if n + r < 6 else "y" * n} for n in range(11) for r in (0, 1)]
        + [{"id": "lacks", "output": "yes"}, {"id": "e11", "status": "refused"}],
        name="new",
    )
    desk.work(desk.submit("exact-match", "edit-distance", samples="new", name=HOSTILE))
    return analyses.report(HOSTILE, "base job")


def test_every_figure_of_a_report_is_what_its_query_says(desk: Desk, analyses: JobAnalyses) -> None:
    report = told_report(desk, analyses)
    assert {section.kind for section in report.sections} == set(SectionKind)
    queries = [one.query for section in report.sections for one in section.figures]
    assert None not in queries
    # One SELECT of all of them: each is a process of its own.
    whole = ", ".join(f"({query})" for query in queries)
    with desk.evaluations.sql(f"SELECT {whole}") as answer:
        (row,) = [list(record.values()) for batch in answer.batches for record in batch.to_pylist()]
    figures = [one for section in report.sections for one in section.figures]
    assert len(figures) == len(row) > 30
    for figure, value in zip(figures, row, strict=True):
        assert figure.value == pytest.approx(value), figure


def test_a_query_of_an_unprintable_message_is_that_message(desk: Desk, analyses: JobAnalyses) -> None:
    said = "it's\n```\n\x1b[31m\u202e\x00 'x'"
    query = f"SELECT {literal(said)} AS value"
    assert query.isprintable()
    with desk.evaluations.sql(query) as answer:
        (row,) = [record for batch in answer.batches for record in batch.to_pylist()]
    assert row["value"] == said
    assert literal("") == "''"


def test_a_report_is_the_same_in_every_format_and_nothing_in_it_is_markup(
    desk: Desk, analyses: JobAnalyses, tmp_path: Path
) -> None:
    report = told_report(desk, analyses)
    whole = document(report)
    assert isinstance(whole, dict)
    for suffix in SUFFIXES:
        write_report(report, whole, tmp_path / f"report{suffix}")
    figures = [one for section in report.sections for one in section.figures]
    rows = parquet.read_table(tmp_path / "report.parquet").to_pylist()
    assert [(row["figure"], row["value"], row["query"]) for row in rows] == [
        (one.name, one.value, one.query) for one in figures
    ]
    with (tmp_path / "report.csv").open(newline="") as file:
        assert [float(row["value"]) for row in csv.DictReader(file)] == [one.value for one in figures]
    assert json.loads((tmp_path / "report.json").read_text()) == whole
    page, marked = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    assert "<script" not in page
    assert page.count("<details>") == len(figures)
    assert page.count('<svg class="bars"') == 2
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    parsed = parse(page)
    assert {query for query in parsed if query.startswith(("SELECT", "WITH"))} == {one.query for one in figures}
    assert HOSTILE in parsed
    outside = re.sub(r"```sql\n.*?\n```\n", "", marked, flags=re.DOTALL)
    assert "<script" not in outside
    assert "```" not in outside
    with pytest.raises(FileTaken):
        write_report(report, whole, tmp_path / "report.md")


def parse(page: str) -> list[str]:
    """The texts of a page, as a browser has them."""
    found: list[str] = []
    parser = HTMLParser(convert_charrefs=True)
    parser.handle_data = found.append  # type: ignore[method-assign]
    parser.feed(page)
    parser.close()
    return found


def test_a_report_of_a_job_that_has_not_begun_says_so(desk: Desk, analyses: JobAnalyses) -> None:
    desk.numbers(4)
    job = desk.submit()
    report = analyses.report(str(job.id))
    assert (report.state, report.done, report.expected, report.against) == ("queued", 0, 4, None)
    numbers = next(one for one in report.sections if one.kind is SectionKind.NUMBERS)
    assert {one.name: one.value for one in numbers.figures} == {
        "mean": None,
        "scored": 0,
        "coverage": 0,
        "lower bound": 0,
        "upper bound": 1,
    }
    assert report.sections[-1].notes == ("4 expected results are not there.",)
