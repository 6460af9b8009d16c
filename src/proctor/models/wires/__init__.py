"""The wires that providers speak, and what each says in words that all share."""
