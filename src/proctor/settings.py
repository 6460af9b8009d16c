"""The only place that reads the environment: ``PROCTOR_*`` variables, and the values of named secrets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ["Settings", "clean_environment", "secret_values", "step_summary"]


def _data_home() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "proctor"


class Settings(BaseSettings):
    """Where Proctor keeps things and which database it uses. Every field is also ``PROCTOR_<NAME>``."""

    model_config = SettingsConfigDict(env_prefix="PROCTOR_", extra="ignore", frozen=True)

    home: Path = Field(default_factory=_data_home, description="The data folder.")
    tenant: str | None = Field(default=None, description="The tenant; embedded: the one the data folder names.")
    database_url: SecretStr | None = Field(default=None, description="A PostgreSQL of one's own, as proctor_app.")
    database_scheduler_url: SecretStr | None = Field(default=None, description="The same, as proctor_scheduler.")
    database_owner_url: SecretStr | None = Field(default=None, description="The same, as proctor_owner: upgrades.")
    objects_url: str | None = Field(default=None, description="s3:// or gs://; unset: a folder in the data folder.")
    sandbox_root: Path | None = Field(default=None, description="Where local sandboxes keep their files.")
    lease_sec: float = Field(default=60.0, ge=1, le=3600, description="A claim's lease; a heartbeat is a quarter.")
    log_level: str = Field(default="warning", description="debug, info, warning, error")


def secret_values(names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The values of the named variables that are set, and the names of those that are not."""
    found = {name: os.environ[name] for name in names if os.environ.get(name)}
    return found, [name for name in names if name not in found]


def clean_environment() -> dict[str, str]:
    """A minimal environment for programs Proctor starts on the host: nothing of the caller's leaks into them."""
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


def step_summary() -> Path | None:
    """The file whose Markdown GitHub shows on a job's page; ``None`` anywhere else."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(path) if path else None
