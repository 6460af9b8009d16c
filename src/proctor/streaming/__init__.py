"""Streaming: rows sent while they are made, judged as they come; from clients, files and NATS."""
