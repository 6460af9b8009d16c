"""Metrics of the installation's objective and of its backups, for Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from sqlalchemy import Connection

from proctor.health import backups
from proctor.health.backups import BackupsReport
from proctor.health.objective import WINDOWS, Burn, burn
from proctor.settings import Settings

__all__ = ["health_metrics"]


def health_metrics(connection: Connection, settings: Settings) -> Sequence[Metric]:
    """In a scheduler's transaction. What is not known has no sample: never 0."""
    now = datetime.now(UTC)
    burns = {name: burn(connection, settings.slo_objective, span, now) for name, span in WINDOWS.items()}
    own = settings.database_url is not None
    known = backups.report(connection, elsewhere=settings.backups_elsewhere, own_database=own)
    return [*_objective(settings.slo_objective, burns), *_backups(known)]


def _objective(wanted: float, burns: dict[str, Burn]) -> list[Metric]:
    objective = GaugeMetricFamily(
        "proctor_slo_objective_ratio", "The share of ended attempts that the installation may not fail itself"
    )
    objective.add_metric([], wanted)
    attempts = GaugeMetricFamily("proctor_slo_attempts", "Attempts that ended in the window", labels=("window",))
    lost = GaugeMetricFamily(
        "proctor_slo_attempts_lost",
        "Of these, failed by the infrastructure or by what nobody knows",
        labels=("window",),
    )
    rate = GaugeMetricFamily(
        "proctor_slo_burn_rate", "Times the allowed share that was lost; 1: as much as is allowed", labels=("window",)
    )
    for name, one in burns.items():
        attempts.add_metric([name], one.attempts)
        lost.add_metric([name], one.lost)
        if one.rate is not None:
            rate.add_metric([name], one.rate)
    return [objective, attempts, lost, rate]


def _backups(known: BackupsReport) -> list[Metric]:
    newest = GaugeMetricFamily("proctor_backup_age_seconds", "Since the newest known backup was made")
    if known.newest is not None:
        newest.add_metric([], known.newest.age_sec)
    verified = GaugeMetricFamily("proctor_backup_verified_age_seconds", "Since the newest verified backup was made")
    if known.newest_verified is not None:
        verified.add_metric([], known.newest_verified.age_sec)
    unaudited = GaugeMetricFamily(
        "proctor_backup_unaudited_seconds", "The same, or since the installation began; none where others take them"
    )
    if known.unaudited_sec is not None:
        unaudited.add_metric([], known.unaudited_sec)
    return [newest, verified, unaudited]
