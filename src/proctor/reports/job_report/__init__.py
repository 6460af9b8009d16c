"""A job's report as a file: Markdown, HTML, CSV, Parquet or JSON, of the same figures."""

from proctor.reports.job_report.files import SUFFIXES, write_report

__all__ = ["SUFFIXES", "write_report"]
