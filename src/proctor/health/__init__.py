"""How the installation was: a sample a minute, kept for eight days. Which alerts a tenant has seen, and until when."""
