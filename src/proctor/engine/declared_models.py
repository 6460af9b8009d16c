"""What a run-set file declares of models, checked before anything is run or spent."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.agents.adapters.adapter import Adapter
from proctor.agents.interfaces import Agent, Asks
from proctor.engine.errors import SpecInvalid
from proctor.engine.spec import Profile, RunSetSpec
from proctor.kernel.errors import ProctorError
from proctor.models.errors import PriceUnknown, ProviderUnknown, RequestInvalid
from proctor.models.gateway.preparing import preferred_wire
from proctor.models.known import KnownModels
from proctor.models.providers.catalogue import Provider
from proctor.models.providers.libraries import refuse_missing_library
from proctor.suites.variables import every_name

__all__ = ["check_models"]


def check_models(spec: RunSetSpec, position: int, agent: Agent, known: KnownModels) -> None:
    """Check one profile. Raises ``SpecInvalid``, ``ProviderUnknown`` and ``PriceUnknown`` naming the field.

    A command may have a model of a provider that is not known here: it is a label then, and its calls are its own.
    """
    profile, place = spec.profiles[position], f"profiles[{position}]"
    _refuse_keys(profile, place, known)
    if agent.asks is Asks.NOTHING or profile.model is None or agent.identity.name == "command":
        return
    _refuse_twice(profile, place)
    for field, model in _declared(profile):
        try:
            provider, _ = known.catalogue.of(model)
            _refuse_other_wire(agent, provider)
        except (ProviderUnknown, RequestInvalid) as error:
            raise ProviderUnknown(error.message, where=f"{place}.{field}", remedy=_remedy(error)) from error
        _refuse_missing_key(spec, provider, place, field)
        refuse_missing_library(provider, in_sandbox=agent.asks is Asks.SANDBOX)
        if _has_hard_budget(spec, profile) and known.prices.of(model) is None:
            raise PriceUnknown(f"The price of {model!r} is not known.", where=f"{place}.{field}")


def _refuse_other_wire(agent: Agent, provider: Provider) -> None:
    """Raises ``RequestInvalid`` where an agent and a provider have no wire in common."""
    if not isinstance(agent, Adapter):
        preferred_wire(provider)
    elif not provider.speaks(wire := agent.wire(provider.name)):
        known = ", ".join(sorted(provider.wires))
        raise RequestInvalid(f"{agent.identity.name} asks by {wire}; {provider.name} is reached by {known}.")


def _remedy(error: ProctorError) -> str:
    if isinstance(error, ProviderUnknown):
        return error.remedy
    return "Take a model of another provider, or say in the providers' file on which wires this one answers."


def _declared(profile: Profile) -> Iterator[tuple[str, str]]:
    """Every model of a profile with its field."""
    if profile.model is not None:
        yield "model", profile.model
    for number, model in enumerate(profile.fallbacks):
        yield f"fallbacks[{number}]", model


def _refuse_twice(profile: Profile, place: str) -> None:
    seen: set[str] = set()
    for field, model in _declared(profile):
        if model in seen:
            remedy = "Leave it out: it has been asked already, as often as helps."
            raise SpecInvalid(f"{model} is in the chain before.", where=f"{place}.{field}", remedy=remedy)
        seen.add(model)


def _refuse_missing_key(spec: RunSetSpec, provider: Provider, place: str, field: str) -> None:
    if provider.keys and not set(provider.keys) & set(spec.secrets.names):
        names = " or ".join(provider.keys)
        remedy = f"List {names} among secrets.names; its value comes from the environment or `proctor secret set`."
        raise SpecInvalid(f"{provider.name} needs a key.", where=f"{place}.{field}", remedy=remedy)


def _refuse_keys(profile: Profile, place: str, known: KnownModels) -> None:
    """No provider's key enters a sandbox: an agent could read it, keep it and spend it."""
    named = every_name(profile.env)
    for provider in known.catalogue:
        for name in sorted(named & set(provider.keys)):
            remedy = "Name its model in the profile: the gateway makes the calls, and the key stays outside."
            raise SpecInvalid(
                f"{name} is a key of {provider.name}, and no provider's key enters a sandbox.",
                where=f"{place}.env",
                remedy=remedy,
            )


def _has_hard_budget(spec: RunSetSpec, profile: Profile) -> bool:
    return any(one is not None for one in (spec.budget.cost, profile.limits.cost, profile.budget))
