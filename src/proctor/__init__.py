"""Proctor evaluates AI coding agents and LLM outputs, and reports numbers that hold up."""

__all__ = ["__version__"]
__version__ = "0.1.0"
