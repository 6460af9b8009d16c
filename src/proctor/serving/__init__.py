"""The roles of a server: ``proctor serve`` runs any of them in one process, ``proctor up`` each in its own."""
