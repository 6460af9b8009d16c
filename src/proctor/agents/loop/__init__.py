"""The built-in agent: a model with five tools, in a loop. Any model of any provider."""

from proctor.agents.loop.agent import Loop, LoopSettings

__all__ = ["Loop", "LoopSettings"]
