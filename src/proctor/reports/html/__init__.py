"""A run set's report as one self-contained HTML file."""

from proctor.reports.html.page import MATRIX_CELLS, render_html

__all__ = ["MATRIX_CELLS", "render_html"]
