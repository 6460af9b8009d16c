"""Which registry an image comes from, and what no task can lay on one that others use."""

from __future__ import annotations

import pytest

from proctor.sandboxes.registries import base_of_failed_build, registry_at_fault, registry_of, repository_of

REGISTRIES = {
    "debian:12": "docker.io",
    "me/image": "docker.io",
    "index.docker.io/me/image": "docker.io",
    "ghcr.io/a/b:1": "ghcr.io",
    "127.0.0.1:5/x": "127.0.0.1:5",
    "localhost/x": "localhost",
}


@pytest.mark.parametrize(("image", "registry"), REGISTRIES.items())
def test_the_registry_of_an_image(image: str, registry: str) -> None:
    assert registry_of(image) == registry


@pytest.mark.parametrize(
    "name", ["a", "a:1", "library/a", "docker.io/library/a@sha256:1", "index.docker.io/library/a:1"]
)
def test_one_repository_has_many_names(name: str) -> None:
    assert repository_of(name) == "docker.io/a"


@pytest.mark.parametrize("name", ["127.0.0.1:5/b/a:1", "127.0.0.1:5/b/a@sha256:1", "127.0.0.1:5/b/a"])
def test_a_port_is_no_tag(name: str) -> None:
    assert repository_of(name) == "127.0.0.1:5/b/a"


FAILING = [
    ("toomanyrequests: You have reached your pull rate limit.", 429),
    ('Get "https://ghcr.io/v2/": dial tcp 10.0.0.1:443: connect: connection refused', 500),
    ('Get "https://ghcr.io/v2/": net/http: TLS handshake timeout', 500),
    ('Head "https://ghcr.io/v2/a/manifests/1": EOF', 500),
    ("received unexpected HTTP status: 503 Service Unavailable", None),
    ("unexpected EOF", None),
]


@pytest.mark.parametrize(("words", "status"), FAILING)
def test_a_registry_that_fails(words: str, status: int | None) -> None:
    assert registry_at_fault(words, status)


OF_THE_IMAGE = [
    ("manifest for a/toomanyrequests:eof not found: manifest unknown", 404),
    ("pull access denied for a/i-o-timeout, repository does not exist", 404),
    ("unauthorized: authentication required", 401),
    ("no matching manifest for linux/amd64 in the manifest list entries", None),
    ("failed to register layer: write /x: no space left on device", None),
    ("invalid reference format", 400),
]


@pytest.mark.parametrize(("words", "status"), OF_THE_IMAGE)
def test_an_image_that_cant_be_had_says_nothing_of_its_registry(words: str, status: int | None) -> None:
    assert not registry_at_fault(words, status)


def test_a_build_fails_by_its_registry_where_it_was_pulling() -> None:
    lines = ["Step 1/2 : FROM --platform=linux/amd64 ghcr.io/a/b:1"]
    assert base_of_failed_build(lines, "unexpected EOF") == "ghcr.io/a/b:1"


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (
            ["Step 1/2 : FROM debian", "Step 2/2 : RUN it", "Step 3/3 : FROM ghcr.io/a"],
            "The command '/bin/sh -c echo toomanyrequests: ' returned a non-zero code: 1",
        ),
        (["Step 1/2 : FROM debian", "Step 2/2 : ADD http://a.example/ /x"], "ADD failed: connection refused"),
        ([], "unexpected EOF"),
    ],
)
def test_a_builds_own_commands_are_no_registrys_fault(lines: list[str], error: str) -> None:
    assert base_of_failed_build(lines, error) is None
