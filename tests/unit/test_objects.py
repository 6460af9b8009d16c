"""The object store gives out what was stored, or says that it can't."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from proctor.objects.store import ObjectDamaged, ObjectStore, StoreUnusable


def test_an_altered_object_is_neither_read_nor_saved(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "objects")
    stored = store.put("t/x", b"right")
    assert store.read(stored) == b"right"
    (tmp_path / "objects" / "t" / "x").write_bytes(b"wrong")
    with pytest.raises(ObjectDamaged):
        store.read(stored)
    with pytest.raises(ObjectDamaged):
        store.fetch(stored, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("root", ["ftp://x/y", "/proc/objects"])
def test_a_store_that_can_t_be_is_told(root: str) -> None:
    with pytest.raises(StoreUnusable):
        ObjectStore(root)


async def test_a_state_that_a_row_is_about_to_name_is_never_old(tmp_path: Path) -> None:
    """An old one may be about to be swept, since nobody named it so far: it is stored again."""
    state = tmp_path / "state.tar"
    state.write_bytes(b"state")
    known, stranger = ObjectStore(tmp_path / "objects"), ObjectStore(tmp_path / "objects")
    stored = await known.keep_file("t/states", state, sha256="ab", size=5)
    path = tmp_path / "objects" / stored.key
    two_days = (time.time() - 2 * 86_400,) * 2
    os.utime(path, two_days)
    await stranger.keep_file("t/states", state, sha256="ab", size=5)
    assert time.time() - path.stat().st_mtime < 3600
    assert stranger.is_fresh(stored.key)

    path.unlink()
    await known.keep_file("t/states", state, sha256="ab", size=5)
    assert not path.exists(), "what this process stored a moment ago costs no look"
    assert not known.is_fresh(stored.key)
