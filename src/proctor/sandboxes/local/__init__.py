"""Sandboxes on this machine by bubblewrap, without a daemon, an image or a network."""

from proctor.sandboxes.local.backend import LocalBackend

__all__ = ["LocalBackend"]
