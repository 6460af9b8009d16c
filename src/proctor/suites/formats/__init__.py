"""The field's task formats, in and out."""
