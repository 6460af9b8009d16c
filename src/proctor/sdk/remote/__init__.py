"""The client over a server: the same calls as in this process, over HTTP."""
