"""Layers: the programs of agents as read-only trees, prepared once on the worker's machine and shared by sandboxes.

An agent has two: its runtime (Node from its wheel, or a copy of a Python of this machine) with the bridge to the
gateway, and its own packages at locked versions. Each is named by the digest of what it is made from, so that a
configuration knows it without anything being installed.
"""
