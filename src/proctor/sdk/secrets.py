"""Secrets that a server keeps for its tenants: what a run set needs of them, and their rotation on its own machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.app import Platform, keyring_of, open_server
from proctor.engine.errors import SecretMissing
from proctor.engine.spec import RunSetSpec
from proctor.identity.vault import secrets
from proctor.identity.vault.errors import SecretsKeyElsewhere
from proctor.identity.vault.key_files import FileKeyring
from proctor.identity.vault.rotation import Rotated, rewrap_all
from proctor.settings import Settings

__all__ = ["kept_secrets", "not_kept", "refuse_missing", "rotate_secrets"]


def not_kept(platform: Platform, spec: RunSetSpec) -> list[str]:
    """Names that a run set lists and its tenant has not set."""
    names = spec.secrets.names
    if not names:
        return []
    return platform.engine.read(lambda c: secrets.missing_secrets(c, platform.tenant, names))


def refuse_missing(platform: Platform, spec: RunSetSpec, *, where: str) -> None:
    """Raises ``SecretMissing`` for the first name that the tenant has not set; ``where``: the list's own place."""
    for name in not_kept(platform, spec):
        raise _missing(name, f"{where}[{spec.secrets.names.index(name)}]")


def kept_secrets(platform: Platform, names: Sequence[str]) -> Mapping[str, str]:
    """The tenant's values of these names, in their order. Raises ``SecretMissing`` and what the keyring raises."""
    found = secrets.open_secrets(platform.database, platform.tenant, platform.keyring, names) if names else {}
    for number, name in enumerate(names):
        if name not in found:
            raise _missing(name, f"secrets.names[{number}]")
    return {name: found[name] for name in names}


def _missing(name: str, where: str) -> SecretMissing:
    remedy = f"`proctor secret set {name}`, or take it out of [secrets]."
    return SecretMissing(f"{name} is not set on this server.", where=where, remedy=remedy)


def rotate_secrets(settings: Settings, *, new_key: bool) -> Rotated:
    """Wrap every tenant's secrets by the current key, on a machine of the server. Safe to repeat, and to cut off.

    ``new_key``: first put a new one at the top of the key file. Raises ``SecretsKeyElsewhere`` where there is no file.
    """
    keyring = keyring_of(settings)
    if new_key and not isinstance(keyring, FileKeyring):
        raise SecretsKeyElsewhere(where="--new-key")
    with open_server(settings) as server:
        if new_key and isinstance(keyring, FileKeyring):
            keyring.add()
        return rewrap_all(server.database, keyring)
