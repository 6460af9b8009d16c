"""What a registry will be asked for is read off a task's files."""

from __future__ import annotations

from pathlib import Path

from proctor.sandboxes.registries import registry_of
from proctor.suites.images import base_images, images_of, is_whole
from proctor.suites.loading import load_suite
from tests.bench import TASK, write_tasks


def test_the_images_of_a_dockerfile_are_what_its_stages_start_from() -> None:
    text = """
    ARG WANTED
    FROM --platform=linux/amd64 ghcr.io/a/b:1 AS build
    RUN echo FROM nothing
    FROM ${WANTED}
    FROM build
    from scratch
    FROM debian:12 as last
    """
    assert base_images(text) == ["ghcr.io/a/b:1", "${WANTED}", "debian:12"]


def test_an_argument_of_a_dockerfile_has_its_default() -> None:
    text = """
    ARG PY=3.12 SLIM='-slim'
    ARG TAG="$PY$SLIM"
    FROM python:${TAG} AS base
    ARG PY=2
    FROM ghcr.io/${WHO}/x:$PY
    FROM ${OTHER:-debian}:12
    FROM ${WANTED}/x
    """
    found = base_images(text)
    assert found == ["python:3.12-slim", "ghcr.io/${WHO}/x:3.12", "debian:12", "${WANTED}/x"]
    assert [is_whole(image) for image in found] == [True, False, True, False]
    assert [registry_of(image) for image in found] == ["docker.io", "ghcr.io", "docker.io", "docker.io"]


def test_a_task_names_its_image_or_brings_a_dockerfile(tmp_path: Path) -> None:
    named = TASK.replace("[environment]", '[environment]\ndocker_image = "ghcr.io/a/b:1"')
    write_tasks(tmp_path / "named", 1, config=named)
    built = write_tasks(tmp_path / "built", 1)
    (built / "task-00" / "environment").mkdir()
    (built / "task-00" / "environment" / "Dockerfile").write_text("FROM debian:12\n")
    write_tasks(tmp_path / "plain", 1)
    found = [images_of(load_suite(tmp_path / name).tasks[0]) for name in ("named", "built", "plain")]
    assert found == [["ghcr.io/a/b:1"], ["debian:12"], []]


def test_services_beside_a_task_start_from_images_too(tmp_path: Path) -> None:
    environment = write_tasks(tmp_path, 1) / "task-00" / "environment"
    (environment / "db").mkdir(parents=True)
    (environment / "Dockerfile").write_text("FROM debian:12\n")
    (environment / "db" / "Dockerfile").write_text("FROM ghcr.io/a/db:1\n")
    services = "services:\n  main: {}\n  db: { build: ./db }\n  cache: { image: 'quay.io/b/cache:2' }\n"
    (environment / "docker-compose.yaml").write_text(services)
    (task,) = load_suite(tmp_path).tasks
    assert sorted(images_of(task)) == ["debian:12", "ghcr.io/a/db:1", "quay.io/b/cache:2"]
