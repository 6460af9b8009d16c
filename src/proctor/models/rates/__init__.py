"""Room in the rates of providers' keys, and what their replies teach of it."""
