"""The only place that reads the environment: ``PROCTOR_*`` variables, and the values of named secrets."""

from __future__ import annotations

import json
import os
import re
import shlex
import unicodedata
from collections.abc import Iterable
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from proctor.kernel.errors import UsageError
from proctor.kernel.validation import words_of

__all__ = [
    "ProviderLimit",
    "SettingInvalid",
    "Settings",
    "clean_environment",
    "docker_logins",
    "registry_environment",
    "secret_values",
    "step_summary",
    "stored_logins",
]


def _data_home() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "proctor"


class SettingInvalid(UsageError):
    """A PROCTOR_ variable of the environment has a value that can't be used."""

    code = "setting"
    remedy = "Correct the variable that is named, or unset it."


_COLLECTOR = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]+(/[A-Za-z0-9._~/-]*)?")
_HEADER = re.compile(r"[A-Za-z0-9-]+=[\x20-\x7e]+")
_BUCKET = re.compile(r"(s3|gs)://[^/]+")
_LEAST_OBJECTIVE, _MOST_OBJECTIVE, _USUAL_OBJECTIVE = 0.95, 0.9999, 0.99
"""Below the first, attempts that all fail would not burn 14.4 times what is allowed, and no alarm were told; above the
second, three failures of ten thousand would be an alarm."""
_NOBODY = frozenset({"0", "1", "f", "false", "t", "true", "n", "no", "nobody", "y", "yes", "none", "null", "off", "on"})
"""What says no more than that a setting is on or off."""


class ProviderLimit(BaseModel):
    """What a provider bears, over all run sets of a tenant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency: int | None = Field(default=None, ge=1, le=1024)
    per_minute: int | None = Field(default=None, ge=1, le=100_000)


class Settings(BaseSettings):
    """Where Proctor keeps things and which database it uses. Every field is also ``PROCTOR_<NAME>``."""

    model_config = SettingsConfigDict(env_prefix="PROCTOR_", extra="ignore", frozen=True)

    home: Path = Field(default_factory=_data_home, description="The data folder.")
    tenant: str | None = Field(default=None, description="The tenant; embedded: the one the data folder names.")
    database_url: SecretStr | None = Field(default=None, description="A PostgreSQL of one's own, as proctor_app.")
    database_scheduler_url: SecretStr | None = Field(default=None, description="The same, as proctor_scheduler.")
    database_owner_url: SecretStr | None = Field(default=None, description="The same, as proctor_owner: upgrades.")
    server: str | None = Field(default=None, description="The server that commands go to; 'local': none.")
    api_key: SecretStr | None = Field(default=None, description="The key for it; unset: the stored one.")
    server_secret: SecretStr | None = Field(
        default=None, min_length=32, description="What keyed hashes are taken with; embedded: kept in the data folder."
    )
    secrets_key_file: Path | None = Field(
        default=None, description="The file of keys that wrap tenants' secrets; embedded: kept in the data folder."
    )
    secrets_key_command: str | None = Field(
        default=None, description="Instead, a program that wraps and unwraps them, such as a KMS's."
    )
    server_sandbox: Literal["local", "docker"] = Field(
        default="local", description="What a server's workers run attempts in."
    )
    server_slots: int = Field(default=2, ge=1, le=1024, description="Attempts at once of one worker of a server.")
    evaluation_processes: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        le=1024,
        description="Processes that score chunks of evaluation jobs, of one worker; unset: as many as processors.",
    )
    objects_url: str | None = Field(default=None, description="s3:// or gs://; unset: a folder in the data folder.")
    sandbox_root: Path | None = Field(default=None, description="Where local sandboxes keep their files.")
    docker_runtime: str | None = Field(default=None, description="The engine's runtime for containers, such as runsc.")
    image_days: int = Field(
        default=30, ge=1, le=3650, description="Built images that nobody asked for in so many days are removed."
    )
    egress_networks: str = Field(
        default="", description="Networks beyond the public ones that allowlists may lead to: CIDRs, commas between."
    )
    providers_file: Path | None = Field(
        default=None, description="The file of providers, their keys' names and prices; unset: in the data folder."
    )
    provider_limits: Annotated[dict[str, ProviderLimit], NoDecode] = Field(
        default={}, description="What each provider bears, as JSON."
    )
    lease_sec: float = Field(default=60.0, ge=1, le=3600, description="A claim's lease; a heartbeat is a quarter.")
    cpu_overcommit: float = Field(
        default=2.0, ge=0.1, le=100, description="How many times each processor is promised to attempts."
    )
    stall_sec: float = Field(default=600.0, gt=0, description="Without progress for so long, an attempt is named.")
    slo_objective: float = Field(
        default=_USUAL_OBJECTIVE,
        description="The share of ended attempts that the installation may not fail itself: 0.99 is 99 %.",
    )
    backups_elsewhere: str | None = Field(
        default=None, max_length=200, description="Who takes backups, where `proctor backup` does not: told on Health."
    )
    log_level: Literal["debug", "info", "warning", "error"] | None = Field(
        default=None, description="From which level on lines go to standard error; unset: a server info, else warning."
    )
    log_days: int = Field(default=30, ge=0, le=3650, description="How long log lines are kept to search; 0: none are.")
    otlp_endpoint: str | None = Field(default=None, description="The collector that traces go to, by OTLP over HTTP.")
    otlp_headers: SecretStr | None = Field(default=None, description="Headers for it: name=value, commas between.")
    nats_token: SecretStr | None = Field(default=None, description="What `proctor stream feed` says to NATS.")
    nats_user: str | None = Field(default=None, description="Or its user there,")
    nats_password: SecretStr | None = Field(default=None, description="and that user's password.")
    otlp_ratio: float = Field(default=1.0, ge=0, le=1, description="The share of traces that is sent.")

    @property
    def quiet_sec(self) -> float:
        """``stall_sec``, but never less than two heartbeats: progress is told with them."""
        return max(self.stall_sec, self.lease_sec / 2)

    @property
    def collector_headers(self) -> dict[str, str]:
        """``otlp_headers`` by name."""
        text = "" if self.otlp_headers is None else self.otlp_headers.get_secret_value()
        pairs = [one.partition("=") for one in text.split(",") if one.strip()]
        return {name.strip(): value.strip() for name, _, value in pairs}

    @property
    def nats_login(self) -> dict[str, str | None]:
        """How NATS is told who asks: ``token``, ``user``, ``password``."""
        token, password = (
            None if one is None else one.get_secret_value() for one in (self.nats_token, self.nats_password)
        )
        return {"token": token, "user": self.nats_user, "password": password}

    @property
    def secret_texts(self) -> list[str]:
        """What of them is a secret: no log line may hold it."""
        fields = (getattr(self, name) for name in type(self).model_fields)
        plain = [one.get_secret_value() for one in fields if isinstance(one, SecretStr)]
        passwords = [found for one in plain if (found := urlsplit(one).password if "://" in one else None)]
        return [*plain, *passwords, *map(unquote, passwords), *self.collector_headers.values()]

    def __init__(self, **values: Any) -> None:
        """Raises ``SettingInvalid`` naming the variable."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _told(error) from error

    @field_validator("log_level", mode="before")
    @classmethod
    def _lower(cls, level: object) -> object:
        return level.lower() if isinstance(level, str) else level

    @field_validator("provider_limits", mode="before")
    @classmethod
    def _is_json(cls, limits: object) -> object:
        if not isinstance(limits, str):
            return limits
        try:
            return json.loads(limits)
        except json.JSONDecodeError as error:
            raise ValueError(f"It is not JSON: {error}.") from error

    @field_validator("slo_objective", mode="before")
    @classmethod
    def _or_the_usual(cls, objective: object) -> object:
        """A text of nothing or of blanks is as if it were not set."""
        return _USUAL_OBJECTIVE if isinstance(objective, str) and not objective.strip() else objective

    @field_validator("slo_objective")
    @classmethod
    def _is_an_objective(cls, objective: float) -> float:
        if not _LEAST_OBJECTIVE <= objective <= _MOST_OBJECTIVE:  # a NaN is in no range
            raise ValueError(f"It must be a share from {_LEAST_OBJECTIVE} to {_MOST_OBJECTIVE}, such as 0.99 for 99 %.")
        return objective

    @field_validator("backups_elsewhere")
    @classmethod
    def _names_somebody(cls, who: str | None) -> str | None:
        named = (who or "").strip()
        if named and (named.lower() in _NOBODY or not named.isprintable() or not any(map(_is_seen, named))):
            raise ValueError("It must say who takes them, in words; unset it where `proctor backup` does.")
        return named or None

    @field_validator("secrets_key_command")
    @classmethod
    def _is_a_command(cls, command: str | None, info: ValidationInfo) -> str | None:
        if command is not None and info.data.get("secrets_key_file") is not None:
            raise ValueError("Set it or PROCTOR_SECRETS_KEY_FILE, not both.")
        try:
            words = shlex.split(command or "")
        except ValueError as error:
            raise ValueError(f"It must be a command's words: {error}.") from error
        if command is not None and not words:
            raise ValueError("It must be a command's words.")
        return command

    @field_validator("otlp_endpoint")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        if url and not _COLLECTOR.fullmatch(url):
            raise ValueError("It must be http://HOST... or https://HOST..., without a login: that is for headers.")
        return url or None

    @field_validator("otlp_headers")
    @classmethod
    def _are_headers(cls, headers: SecretStr | None) -> SecretStr | None:
        text = "" if headers is None else headers.get_secret_value()
        if any(not _HEADER.fullmatch(one.strip()) for one in text.split(",") if one.strip()):
            raise ValueError("It must be name=value, with commas between.")
        return headers

    @field_validator("objects_url")
    @classmethod
    def _has_a_bucket(cls, url: str | None) -> str | None:
        if url is not None and "://" in url and not _BUCKET.match(url):
            raise ValueError("It must be s3://BUCKET/... or gs://BUCKET/...")
        return url

    @field_validator("egress_networks")
    @classmethod
    def _are_networks(cls, networks: str) -> str:
        for one in filter(None, networks.split(",")):
            try:
                ip_network(one.strip())
            except ValueError as error:
                raise ValueError(f"It must be networks such as 10.1.0.0/16, with commas between: {error}.") from error
        return networks


def _is_seen(character: str) -> bool:
    """Whether it is a letter or a digit; some letters of Hangul are blank."""
    return character.isalnum() and "FILLER" not in unicodedata.name(character, "")


def _told(error: ValidationError) -> SettingInvalid:
    """What is wrong, without the value: it may be a secret."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    names = ["PROCTOR_" + ".".join([str(one["loc"][0]).upper(), *map(str, one["loc"][1:])]) for one in problems]
    told = [f"{words_of(one)}." for one in problems]
    if len(told) == 1:
        return SettingInvalid(told[0], where=names[0])
    lines = [f"{name}: {message}" for name, message in zip(names, told, strict=True)]
    return SettingInvalid("\n  ".join(["Several settings are wrong:", *lines]))


def secret_values(names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The values of the named variables that are set, and the names of those that are not."""
    found = {name: os.environ[name] for name in names if os.environ.get(name)}
    return found, [name for name in names if name not in found]


def clean_environment() -> dict[str, str]:
    """A minimal environment for programs Proctor starts on the host: nothing of the caller's leaks into them."""
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


_REGISTRY = re.compile(
    r"(PIP_|npm_config_).*|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
    r"|NPM_TOKEN|NODE_AUTH_TOKEN|HOME|XDG_(CONFIG|CACHE)_(HOME|DIRS)|PATH",
    re.IGNORECASE,
)
"""How pip and npm are told which registry to ask, through which proxy and with which certificates."""


def registry_environment() -> dict[str, str]:
    """What pip and npm need of the environment to reach the registries that this user's are set up with."""
    return {name: value for name, value in os.environ.items() if _REGISTRY.fullmatch(name)}


def stored_logins() -> Path:
    """The file in which ``proctor login`` keeps keys of servers."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "proctor" / "logins.json"


def docker_logins() -> Path:
    """The file in which ``docker login`` keeps who this user is to which registry."""
    folder = os.environ.get("DOCKER_CONFIG")
    return (Path(folder) if folder else Path.home() / ".docker") / "config.json"


def step_summary() -> Path | None:
    """The file whose Markdown GitHub shows on a job's page; ``None`` anywhere else."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(path) if path else None
