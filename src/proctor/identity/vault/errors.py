"""Errors of secrets that are kept.

ProctorError
├── UsageError
│   ├── SecretUnknown           there is no secret of that name
│   ├── SecretNameInvalid       not a name that a run-set file could list
│   ├── SecretValueInvalid      not a value that could be kept and masked
│   ├── SecretsKeyElsewhere     a new key is not made here: a program keeps them
│   ├── SecretsKeyUnset         the installation has no key for secrets
│   └── SecretsExtraMissing     the library that seals them is not installed
├── OwnFault
│   ├── SecretsKeyUnusable      its key file or key program does not do
│   └── SecretsKeyUnknown       a row was wrapped by a key that is not there
└── IntegrityError
    └── SecretBroken            a row is not what was written
"""

from __future__ import annotations

from proctor.kernel.errors import IntegrityError, OwnFault, UsageError

__all__ = [
    "SecretBroken",
    "SecretNameInvalid",
    "SecretUnknown",
    "SecretValueInvalid",
    "SecretsExtraMissing",
    "SecretsKeyElsewhere",
    "SecretsKeyUnknown",
    "SecretsKeyUnset",
    "SecretsKeyUnusable",
]


class SecretUnknown(UsageError):
    """There is no secret of that name."""

    code = "secret-unknown"
    remedy = "`proctor secret list` names those there are."


class SecretNameInvalid(UsageError):
    """A secret is named as an environment variable is: letters, digits and _, no digit first, 128 at most."""

    code = "secret-name"
    remedy = "Take the name that the run-set file lists under [secrets]."


class SecretValueInvalid(UsageError):
    """A secret is 6 characters to 64 KiB of text without a zero byte: a shorter one can't be masked in logs."""

    code = "secret-value"
    remedy = "Send the value itself, as UTF-8."


class SecretsKeyUnset(UsageError):
    """This installation keeps no secrets: it has no key for them."""

    code = "secrets-key-unset"
    remedy = (
        "Its administrator sets PROCTOR_SECRETS_KEY_FILE or PROCTOR_SECRETS_KEY_COMMAND, the same for all processes."
    )


class SecretsKeyElsewhere(UsageError):
    """Only a key file can be given a new key; here a program wraps secrets, by keys of its own."""

    code = "secrets-key-elsewhere"
    remedy = "Have that program take a new key, then rotate without --new-key."


class SecretsExtraMissing(UsageError):
    """Secrets need the server extra, which is not installed."""

    code = "secrets-extra"
    remedy = "Install Proctor with it: pip install -e '.[server]' in its folder."


class SecretsKeyUnusable(OwnFault):
    """The key for secrets can't be used."""

    code = "secrets-key"
    remedy = "Put the key back; docs/how-to/keep-secrets.md says what it is and how it is rotated."


class SecretsKeyUnknown(OwnFault):
    """A secret was wrapped by a key that is not there."""

    code = "secrets-key-unknown"
    remedy = "Add that key to the key file again, below the first line, or set the secret again."


class SecretBroken(IntegrityError):
    """A kept secret is not what was written: its row was changed, or is another's."""

    code = "secret-broken"
    remedy = "Set the secret again, and find out who wrote to the database."
