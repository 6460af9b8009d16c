"""The server's HTTP face: ``create_app`` mounts every route; nothing here decides what a platform does."""

from proctor.api.app import create_app

__all__ = ["create_app"]
