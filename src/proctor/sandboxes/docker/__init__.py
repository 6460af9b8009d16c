"""Sandboxes that are containers of a Docker or Podman engine."""

from proctor.sandboxes.docker.backend import DockerBackend

__all__ = ["DockerBackend"]
