"""What containers may reach: hosts of a list through the proxy, a network that changes while they run, no neighbour."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.errors import UnsupportedByBackend
from proctor.sandboxes.interfaces import ExecResult, Network, Reach, Sandbox, SandboxSpec
from tests.acceptance.conftest import Cli, cli  # noqa: F401 - a fixture
from tests.contracts.sandboxes import labels, shell
from tests.docker.test_runs import DOCKERFILE, RUN_SET, containers, outcomes  # noqa: F401 - a fixture

ASK = """python3 - <<'END'
import os, socket
host, _, port = os.environ['http_proxy'].removeprefix('http://').partition(':')
s = socket.create_connection((host, int(port)), timeout=10)
s.sendall({request!r})
got = b''
while piece := s.recv(65536): got += piece
print(got.decode())
END
"""
GET = b"GET http://%b/page HTTP/1.1\r\nHost: somewhere.else\r\n\r\n"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"page of {self.headers['Host']} {self.path}".encode())

    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server on this machine, on all its addresses."""
    with ThreadingHTTPServer(("0.0.0.0", 0), Page) as found:
        Thread(target=found.serve_forever, daemon=True).start()
        yield found.server_address[1]
        found.shutdown()


@pytest.fixture
async def image(image_folder: Path) -> str:
    return await DockerBackend("tests").build(image_folder, 120)


@asynccontextmanager
async def box(image: str, reach: Reach, *opened: str) -> AsyncIterator[Sandbox]:
    sandbox = await DockerBackend("tests", opened=opened).create(SandboxSpec(labels=labels(), image=image, reach=reach))
    try:
        yield sandbox
    finally:
        await sandbox.destroy()


def listed(*hosts: str) -> Reach:
    return Reach(network=Network.ALLOWLIST, hosts=hosts)


async def asked(sandbox: Sandbox, request: bytes) -> str:
    result = await shell(sandbox, ASK.format(request=request))
    return (result.stdout + result.stderr).decode()


async def devices(sandbox: Sandbox) -> list[bytes]:
    return (await shell(sandbox, "cat /proc/net/dev | tail -n +3 | cut -d: -f1")).stdout.split()


async def direct(sandbox: Sandbox, address: str, port: int) -> ExecResult:
    return await shell(
        sandbox, f"python3 -c 'import socket; socket.create_connection((\"{address}\", {port}), timeout=2)'"
    )


async def test_a_listed_host_is_reached_and_nothing_else_is(image: str, server: int) -> None:
    async with box(image, listed("localhost"), "127.0.0.0/8") as sandbox:
        place = b"localhost:%d" % server
        assert f"page of localhost:{server} /page" in await asked(sandbox, GET % place)
        through = b"CONNECT %b HTTP/1.1\r\n\r\nGET /tunnel HTTP/1.0\r\nHost: it\r\n\r\n" % place
        assert "page of it /tunnel" in await asked(sandbox, through)
        for other in (b"127.0.0.1:%d" % server, b"example.org", b"[::1]:%d" % server, b"localhost.example.org"):
            assert "403" in await asked(sandbox, GET % other)
        assert await devices(sandbox) == [b"lo"]
        for address in ("127.0.0.1", "1.1.1.1"):
            assert (await direct(sandbox, address, server)).exit_code != 0


async def test_a_name_that_leads_to_this_machine_is_not_followed(image: str, server: int) -> None:
    async with box(image, listed("localhost", "127.0.0.0/8", "169.254.0.0/16")) as sandbox:
        for place in (b"localhost:%d" % server, b"127.0.0.1:%d" % server, b"[::ffff:127.0.0.1]:%d" % server):
            assert "has no public address" in await asked(sandbox, GET % place)
        assert "403" in await asked(sandbox, GET % b"169.254.169.254")


async def test_the_proxy_is_there_again_when_every_process_was_killed(image: str, server: int) -> None:
    async with box(image, listed("localhost"), "127.0.0.0/8") as sandbox:
        await shell(sandbox, "setsid sleep 100 >/dev/null 2>&1 &")
        await sandbox.kill_all()
        assert "page of" in await asked(sandbox, GET % (b"localhost:%d" % server))


async def test_a_network_changes_while_commands_run(image: str, server: int) -> None:
    async with box(image, Reach(), "127.0.0.0/8") as sandbox:
        assert await devices(sandbox) == [b"lo"]
        await sandbox.set_reach(Reach(network=Network.PUBLIC))
        assert b"eth0" in await devices(sandbox)
        gateway = (await shell(sandbox, "cat /proc/net/route | awk '$2 == \"00000000\" {print $3}'")).stdout.strip()
        address = socket.inet_ntoa(bytes.fromhex(gateway.decode())[::-1])
        assert (await direct(sandbox, address, server)).exit_code == 0
        hold = f'import socket, time; s = socket.create_connection(("{address}", {server})); time.sleep(60)'
        await shell(sandbox, f"setsid python3 -c '{hold}' >/dev/null 2>&1 & sleep 1")
        await sandbox.set_reach(Reach())
        assert await devices(sandbox) == [b"lo"]
        assert (await direct(sandbox, address, server)).exit_code != 0
        assert await sandbox.processes() == 1  # it lives on, and reaches nothing
        await sandbox.set_reach(listed("localhost"))
        assert "page of" in await asked(sandbox, GET % (b"localhost:%d" % server))
        await sandbox.set_reach(Reach())
        assert (await direct(sandbox, "127.0.0.1", 3128)).exit_code != 0


async def test_public_sandboxes_can_t_see_one_another(image: str) -> None:
    public = Reach(network=Network.PUBLIC)
    async with box(image, public) as one, box(image, public) as other:
        serve = 'import socket, time; s = socket.create_server(("0.0.0.0", 8080)); time.sleep(60)'
        await shell(other, f"setsid python3 -c '{serve}' >/dev/null 2>&1 & sleep 1")
        found = (await shell(other, "awk '/32 host/ {print f} {f = $2}' /proc/net/fib_trie | sort -u")).stdout.split()
        (address,) = [text.decode() for text in found if not text.startswith(b"127.")]
        assert (await direct(other, address, 8080)).exit_code == 0
        assert (await direct(one, address, 8080)).exit_code != 0


async def test_a_runtime_with_a_network_of_its_own_says_that_it_can_t(image: str) -> None:
    backend = DockerBackend("tests", runtime="runsc")
    assert not backend.capabilities().switches_network
    with pytest.raises(UnsupportedByBackend) as refused:
        await backend.create(SandboxSpec(labels=labels(), image=image, reach=listed("example.org")))
    assert refused.value.where == "network"


TASK = """
schema_version = "1.4"
[task]
name = "own/phases"
[agent]
user = "agent"
timeout_sec = 60
{agent}
[verifier]
timeout_sec = 60
[environment]
network_mode = "no-network"
memory_mb = 256
"""
TEST = """grep -q page answer && test -z "$http_proxy" && ! test -d /sys/class/net/eth0
good=$?; mkdir -p /logs/verifier; echo $((1 - good)) > /logs/verifier/reward.txt
"""


@pytest.mark.timeout(300)
def test_an_agent_has_a_network_that_its_verifier_has_not(containers: Cli, server: int) -> None:  # noqa: F811
    own = 'network_mode = "allowlist"\nallowed_hosts = ["localhost"]'
    containers.write("tasks/phases/task.toml", TASK.format(agent=own))
    containers.write("tasks/phases/instruction.md", "Fetch the page.\n")
    containers.write("tasks/phases/environment/Dockerfile", DOCKERFILE)
    solve = ASK.format(request=GET % (b"localhost:%d" % server))
    containers.write("tasks/phases/solution/solve.sh", "exec > answer\n" + solve)
    containers.write("tasks/phases/tests/test.sh", TEST)
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    containers("run", "r.toml", PROCTOR_EGRESS_NETWORKS="127.0.0.0/8")
    assert outcomes(containers) == {(0, "passed"): 1, (1, "failed"): 1}
    (attempt, *_) = [cell["attempt"] for cell in containers.json("cells")["cells"] if cell["profile"] == 0]
    evidence = containers.json("attempt", "show", attempt)["evidence"]
    assert next(one for one in evidence if one["phase"] == "agent")["detail"]["network"] == "allowlist"
    containers("run", "r.toml", "--fresh")
    assert outcomes(containers)[(0, "failed")] == 1  # the operator did not open this machine to it


@pytest.mark.timeout(300)
def test_a_live_verifier_has_a_network_that_the_agent_had_not(containers: Cli, server: int) -> None:  # noqa: F811
    own = '[verifier]\nnetwork_mode = "allowlist"\nallowed_hosts = ["localhost"]'
    text = TASK.format(agent="").replace("[verifier]", own)
    containers.write("tasks/live/task.toml", text + '[metadata.proctor]\nverification = "live"\n')
    containers.write("tasks/live/instruction.md", "Say whether there is a way out.\n")
    containers.write("tasks/live/environment/Dockerfile", DOCKERFILE)
    containers.write("tasks/live/solution/solve.sh", 'echo "way:$http_proxy" > answer\n')
    fetched = ASK.format(request=GET % (b"localhost:%d" % server)) + "\n"
    good = "grep -qx way: answer && grep -q page /tmp/page; good=$?; mkdir -p /logs/verifier\n"
    test = "{\n" + fetched + "} > /tmp/page\n" + good + "echo $((1 - good)) > /logs/verifier/reward.txt\n"
    containers.write("tasks/live/tests/test.sh", test)
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    containers("run", "r.toml", PROCTOR_EGRESS_NETWORKS="127.0.0.0/8")
    assert outcomes(containers) == {(0, "passed"): 1, (1, "failed"): 1}
