"""Scripts that run in peers' own environments and print what a null sample or trial takes there, as JSON."""
