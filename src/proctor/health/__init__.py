"""How the installation was: a sample a minute, kept for eight days."""
