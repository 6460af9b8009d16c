"""The object store gives out what was stored, or says that it can't."""

from __future__ import annotations

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
