"""Tasks and suites: immutable, content-addressed; the field's formats in and out."""
