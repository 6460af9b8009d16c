"""The ``mock`` provider: answers by a script, without a network, the same each time."""
