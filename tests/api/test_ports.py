"""Several processes of an API on one port, where each says so."""

from __future__ import annotations

from contextlib import closing

import pytest

from proctor.serving.http import listen
from proctor.serving.roles import Address, AddressInUse


def test_a_port_is_shared_by_those_who_say_so_and_by_nobody_else() -> None:
    with closing(listen(Address(port=0, shared=True))) as first:
        port = first.getsockname()[1]
        with closing(listen(Address(port=port, shared=True))) as second:
            assert second.getsockname()[1] == port
        with pytest.raises(AddressInUse):
            listen(Address(port=port))
    with closing(listen(Address(port=0))) as alone, pytest.raises(AddressInUse):
        listen(Address(port=alone.getsockname()[1], shared=True))
