"""Where untrusted code runs: the port, and one package or file per backend."""
