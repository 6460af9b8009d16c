"""Envelopes of secrets: what was changed or moved opens nowhere, and a key that can't be used says why."""

from __future__ import annotations

import base64
import json
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from proctor.app import keyring_of
from proctor.identity.vault.ciphers import new_key
from proctor.identity.vault.envelopes import Envelope, Place, rewrapped, seal, unseal
from proctor.identity.vault.errors import (
    SecretBroken,
    SecretsKeyElsewhere,
    SecretsKeyUnknown,
    SecretsKeyUnset,
    SecretsKeyUnusable,
)
from proctor.identity.vault.interfaces import Keyring
from proctor.identity.vault.key_commands import CommandKeyring
from proctor.identity.vault.key_files import FileKeyring, UnsetKeyring, key_id
from proctor.kernel.errors import ProctorError, UsageError
from proctor.sdk.secrets import rotate_secrets
from proctor.settings import Settings

VALUE = "sk-anything-at-all-0123456789 ünd\nmore"
HERE = Place(tenant=UUID(int=1), name="TOKEN", version=3)
KMS = '''
"""A KMS of the tests' own: two keys in a file, and what was wrapped is kept beside them under a random word."""
import base64, hashlib, json, pathlib, secrets, sys
folder, asked = pathlib.Path(sys.argv[1]), json.load(sys.stdin)
assert len(sys.argv) == 2, "nothing but its own words is in argv"
key = (folder / "current").read_text()
if asked["do"] == "current":
    print(json.dumps({"key_id": key}))
elif asked["do"] == "wrap":
    word = secrets.token_hex(8)
    (folder / f"{key.replace(chr(47), chr(45))}-{word}").write_text(json.dumps([asked["key"], asked["context"]]))
    print(json.dumps({"key_id": key, "wrapped": base64.b64encode(word.encode()).decode()}))
else:
    kept = folder / f"{asked['key_id'].replace(chr(47), chr(45))}-{base64.b64decode(asked['wrapped']).decode()}"
    if not kept.exists():
        sys.exit(3)
    found, context = json.loads(kept.read_text())
    if context != asked["context"]:
        sys.exit(1)
    print(json.dumps({"key": found}))
'''


@pytest.fixture
def file(tmp_path: Path) -> FileKeyring:
    return FileKeyring(tmp_path / "secrets" / "secrets.key", made=True)


@pytest.fixture
def kms(tmp_path: Path) -> CommandKeyring:
    (tmp_path / "kms.py").write_text(KMS)
    (tmp_path / "current").write_text("alias/first")
    return CommandKeyring([sys.executable, str(tmp_path / "kms.py"), str(tmp_path)])


@pytest.fixture(params=["file", "kms"])
def keyring(request: pytest.FixtureRequest) -> Keyring:
    found: Keyring = request.getfixturevalue(request.param)
    return found


# --- every keyring ------------------------------------------------------------------------------------------------


def test_what_is_sealed_is_opened_in_its_place(keyring: Keyring) -> None:
    envelope = seal(keyring, HERE, VALUE)
    assert unseal(keyring, HERE, envelope) == VALUE
    assert envelope.wrapped.key_id == keyring.current()


def test_nothing_of_a_value_is_in_its_envelope_and_no_two_are_alike(keyring: Keyring) -> None:
    one, two = (seal(keyring, HERE, VALUE) for _ in range(2))
    assert one.sealed != two.sealed
    assert one.wrapped.data != two.wrapped.data
    assert not [part for part in (one.sealed, one.wrapped.data) if VALUE[:6].encode() in part]


@pytest.mark.parametrize(
    "elsewhere",
    [replace(HERE, tenant=UUID(int=2)), replace(HERE, name="TOKEN2"), replace(HERE, version=4)],
    ids=["tenant", "name", "version"],
)
def test_an_envelope_opens_in_no_other_place(keyring: Keyring, elsewhere: Place) -> None:
    envelope = seal(keyring, HERE, VALUE)
    for work in (unseal, rewrapped):
        with pytest.raises((SecretBroken, SecretsKeyUnusable)):
            work(keyring, elsewhere, envelope)


def test_two_envelopes_can_not_be_put_together(keyring: Keyring) -> None:
    one, two = seal(keyring, HERE, VALUE), seal(keyring, HERE, "another value")
    with pytest.raises(SecretBroken):
        unseal(keyring, HERE, Envelope(wrapped=two.wrapped, sealed=one.sealed))


def test_an_old_key_still_unwraps_and_a_new_one_wraps(file: FileKeyring) -> None:
    envelope = seal(file, HERE, VALUE)
    old, new = file.current(), file.add()
    assert old != new == file.current()
    assert unseal(file, HERE, envelope) == VALUE
    fresh = rewrapped(file, HERE, envelope)
    assert (fresh.wrapped.key_id, fresh.sealed) == (new, envelope.sealed)
    file.path.write_text(file.path.read_text().splitlines()[0])
    assert unseal(file, HERE, fresh) == VALUE
    with pytest.raises(SecretsKeyUnknown, match=old):
        unseal(file, HERE, envelope)


# --- tampering ------------------------------------------------------------------------------------------------------


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_one_changed_bit_anywhere_is_refused(file: FileKeyring) -> None:
    envelope = seal(file, HERE, VALUE)
    for place in range(len(envelope.sealed)):
        with pytest.raises(SecretBroken):
            unseal(file, HERE, replace(envelope, sealed=flipped(envelope.sealed, place)))
    wrapped = envelope.wrapped
    for place in range(len(wrapped.data)):
        with pytest.raises(SecretBroken):
            unseal(file, HERE, replace(envelope, wrapped=replace(wrapped, data=flipped(wrapped.data, place))))


@pytest.mark.parametrize("size", [0, 1, 12, 27])
def test_what_is_cut_off_is_refused(file: FileKeyring, size: int) -> None:
    envelope = seal(file, HERE, VALUE)
    with pytest.raises(SecretBroken):
        unseal(file, HERE, replace(envelope, sealed=envelope.sealed[:size]))
    with pytest.raises(SecretBroken):
        unseal(file, HERE, replace(envelope, wrapped=replace(envelope.wrapped, data=envelope.wrapped.data[:size])))


def test_the_key_that_a_row_names_is_bound_too(file: FileKeyring) -> None:
    envelope = seal(file, HERE, VALUE)
    file.add()
    with pytest.raises(SecretBroken):
        unseal(file, HERE, replace(envelope, wrapped=replace(envelope.wrapped, key_id=file.current())))


# --- key files ------------------------------------------------------------------------------------------------------


def test_a_file_of_the_data_folder_is_made_once_for_its_owner(file: FileKeyring) -> None:
    file.check()
    assert not file.path.exists(), "looking makes none"
    first = file.current()
    assert (stat.S_IMODE(file.path.stat().st_mode), file.current()) == (0o600, first)
    file.add()
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [one.name for one in file.path.parent.iterdir()] == ["secrets.key"]


def test_a_file_that_is_gone_is_not_made_to_open_what_another_sealed(file: FileKeyring) -> None:
    envelope = seal(file, HERE, VALUE)
    file.path.unlink()
    with pytest.raises(SecretsKeyUnusable, match=r"can't be read: No such file"):
        unseal(file, HERE, envelope)
    assert not file.path.exists()


def test_comments_and_empty_lines_are_no_keys(tmp_path: Path) -> None:
    key = new_key()
    path = tmp_path / "keys"
    path.write_text(f"# of 2026\n\n  {base64.b64encode(key).decode()}  \n")
    assert FileKeyring(path).current() == key_id(key)


LINE = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize(
    ("text", "where", "told"),
    [
        (None, "keys", "It can't be read: No such file or directory."),
        ("", "keys", "There is no key in it."),
        ("# none yet\n", "keys", "There is no key in it."),
        (base64.b64encode(b"short-but-telling").decode(), "keys: line 1", "A key is 32 bytes; this one has 17."),
        (f"{LINE}\nno base64 at all\n", "keys: line 2", "It is no base64."),
        ("\udcff\udcfe", "keys: line 1", "It is no base64."),
        ((LINE + "\n") * 2000, "keys", "It is too large for a key file."),
    ],
)
def test_a_key_file_that_does_not_do_says_where_and_why(
    tmp_path: Path, text: str | None, where: str, told: str
) -> None:
    path = tmp_path / "keys"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    keyring = FileKeyring(path)
    for work in (keyring.check, keyring.current, keyring.add):
        with pytest.raises(SecretsKeyUnusable) as caught:
            work()
        assert (caught.value.message, caught.value.where) == (told, str(tmp_path / where))
        assert not text or text.strip() not in str(caught.value), "a key is not told, right or wrong"


# --- key programs ----------------------------------------------------------------------------------------------------


def test_a_program_s_keys_can_change_under_its_rows(kms: CommandKeyring, tmp_path: Path) -> None:
    envelope = seal(kms, HERE, VALUE)
    (tmp_path / "current").write_text("alias/second")
    fresh = rewrapped(kms, HERE, envelope)
    assert (envelope.wrapped.key_id, fresh.wrapped.key_id) == ("alias/first", "alias/second")
    assert unseal(kms, HERE, envelope) == unseal(kms, HERE, fresh) == VALUE
    for kept in tmp_path.glob("alias-first-*"):
        kept.unlink()
    assert unseal(kms, HERE, fresh) == VALUE
    with pytest.raises(SecretsKeyUnknown):
        unseal(kms, HERE, envelope)


def test_a_program_that_lacks_the_key_says_so(kms: CommandKeyring) -> None:
    envelope = seal(kms, HERE, VALUE)
    elsewhere = replace(envelope, wrapped=replace(envelope.wrapped, key_id="alias/gone"))
    with pytest.raises(SecretsKeyUnknown, match="alias/gone"):
        unseal(kms, HERE, elsewhere)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; sys.exit(7)", "Asked to wrap, it ended with exit code 7."),
        ("print('hello')", "Asked to wrap, it answered with no JSON object."),
        ("print('[]')", "Asked to wrap, it answered with no JSON object."),
        ("print('{}')", "It named no key_id of 1 to 200 characters."),
        ('print(\'{"key_id": "a\\\\u0000", "wrapped": "AAAA"}\')', "It named no key_id of 1 to 200 characters."),
        ('print(\'{"key_id": "a"}\')', "It gave no 'wrapped' in base64."),
        ('print(\'{"key_id": "a", "wrapped": "?"}\')', "It gave no 'wrapped' in base64."),
    ],
)
def test_a_program_that_does_not_do_says_why(program: str, told: str) -> None:
    keyring = CommandKeyring([sys.executable, "-c", program])
    with pytest.raises(SecretsKeyUnusable) as caught:
        seal(keyring, HERE, VALUE)
    assert (caught.value.message, caught.value.where) == (told, sys.executable)


def test_a_program_that_gives_no_data_key_back(kms: CommandKeyring, tmp_path: Path) -> None:
    envelope = seal(kms, HERE, VALUE)
    (kept,) = tmp_path.glob("alias-first-*")
    kept.write_text(json.dumps([base64.b64encode(b"x").decode(), json.loads(kept.read_text())[1]]))
    with pytest.raises(SecretsKeyUnusable, match="a key of 1 bytes"):
        unseal(kms, HERE, envelope)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SecretsKeyUnusable, match=r"can't be started: No such file"):
        CommandKeyring([str(tmp_path / "none")]).current()


def test_a_program_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.identity.vault.key_commands.TIMEOUT_SEC", 0.2)
    with pytest.raises(SecretsKeyUnusable, match="did not answer") as caught:
        CommandKeyring([sys.executable, "-c", "import time; time.sleep(60)"]).current()
    assert caught.value.__cause__ is None


# --- which keyring it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("work", [UnsetKeyring().current, lambda: seal(UnsetKeyring(), HERE, VALUE)])
def test_an_installation_without_a_key_says_so(work: Callable[[], object]) -> None:
    with pytest.raises(SecretsKeyUnset) as caught:
        work()
    assert "PROCTOR_SECRETS_KEY_FILE" in caught.value.remedy


def test_where_keys_come_from(tmp_path: Path) -> None:
    external = {"database_url": "postgresql://proctor_app:x@db/proctor", "home": tmp_path}
    assert isinstance(keyring_of(Settings(**external)), UnsetKeyring)
    named = keyring_of(Settings(**external, secrets_key_file=tmp_path / "named"))
    assert isinstance(named, FileKeyring)
    with pytest.raises(SecretsKeyUnusable):
        named.current()  # what is named is not made
    own = keyring_of(Settings(home=tmp_path))
    assert isinstance(own, FileKeyring)
    assert own.path == tmp_path / "secrets" / "secrets.key"
    assert isinstance(keyring_of(Settings(**external, secrets_key_command="kms --key 'a b'")), CommandKeyring)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"secrets_key_command": "kms 'open"}, "a command's words"),
        ({"secrets_key_command": " "}, "a command's words"),
        ({"secrets_key_command": "kms", "secrets_key_file": "keys"}, "not both"),
    ],
)
def test_settings_that_name_no_key(settings: dict[str, str], told: str) -> None:
    with pytest.raises(ProctorError, match=told) as caught:
        Settings(**settings)
    assert caught.value.where == "PROCTOR_SECRETS_KEY_COMMAND"


def test_a_program_s_new_key_is_not_made_here(tmp_path: Path) -> None:
    """Whoever asks for it made a mistake of use: nothing is broken, and no database is opened for it."""
    with pytest.raises(SecretsKeyElsewhere, match="--new-key") as caught:
        rotate_secrets(Settings(home=tmp_path / "none", secrets_key_command="kms"), new_key=True)
    assert caught.value.exit_code == UsageError.exit_code == 2
    assert "rotate without --new-key" in caught.value.remedy
    assert not (tmp_path / "none").exists()
