"""Numbers of evaluation jobs: DuckDB selects columns, ``proctor.analysis`` computes, plain values come out."""
