"""Sandboxes that are containers of a Docker or Podman engine."""

from proctor.sandboxes.docker.backend import DockerBackend, mark_of

__all__ = ["DockerBackend", "mark_of"]
