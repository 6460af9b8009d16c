"""What a registry will be asked for is read off a task's files."""

from __future__ import annotations

from pathlib import Path

from proctor.suites.images import base_images, images_of
from proctor.suites.loading import load_suite
from tests.bench import TASK, write_tasks


def test_the_images_of_a_dockerfile_are_what_its_stages_start_from() -> None:
    text = """
    ARG BASE=debian
    FROM --platform=linux/amd64 ghcr.io/a/b:1 AS build
    RUN echo FROM nothing
    FROM ${BASE}
    FROM build
    from scratch
    FROM debian:12 as last
    """
    assert base_images(text) == ["ghcr.io/a/b:1", "debian:12"]


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
