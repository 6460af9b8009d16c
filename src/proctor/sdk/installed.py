"""What is installed on this machine: its agents and its providers. No database is asked."""

from __future__ import annotations

from proctor.app import layer_store, providers_file
from proctor.models.opening import known_models
from proctor.sdk.agents import AgentLine, list_agents
from proctor.sdk.providers import ProviderLine, list_providers
from proctor.settings import Settings, secret_values

__all__ = ["Installed"]


class Installed:
    """Of one installation, by its settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def agents(self) -> list[AgentLine]:
        """The agents there are, and whether their programs are on this machine."""
        return list_agents(layer_store(self._settings))

    def providers(self) -> list[ProviderLine]:
        """The providers that are known, and which of their keys this environment has. Raises ``ProvidersInvalid``."""
        catalogue = known_models(providers_file(self._settings)).catalogue
        return list_providers(catalogue, lambda names: secret_values(names)[1])
