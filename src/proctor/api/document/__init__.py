"""The OpenAPI document: what FastAPI knows, with what each operation refuses, its headers, and examples."""

from proctor.api.document.describing import Described, completed

__all__ = ["Described", "completed"]
