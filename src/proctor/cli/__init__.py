"""One file per command group; no logic; talks to the SDK."""
