"""Tables that fit: of several layouts the first that the terminal is wide enough for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.measure import Measurement

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Column, Table

__all__ = ["Fitting"]

FOLDED: int = 16
"""Names longer than this may be broken into lines before a narrower layout is taken: they can still be read so."""
_ANY_WIDTH: int = 100_000


class Fitting:
    """Layouts of the same facts, the widest first; each is one table or several."""

    def __init__(self, *layouts: Sequence[Table]) -> None:
        self._layouts = layouts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The first layout that fits, or the last."""
        for tables in self._layouts[:-1]:
            if all(_needs(console, options, table) <= options.max_width for table in tables):
                yield from tables
                return
        yield from self._layouts[-1]


def _needs(console: Console, options: ConsoleOptions, table: Table) -> int:
    """Columns that a table takes with no more broken than long names."""
    natural = Measurement.get(console, options.update(max_width=_ANY_WIDTH), table).maximum
    return natural - sum(max(0, _longest(column) - FOLDED) for column in table.columns if not column.no_wrap)


def _longest(column: Column) -> int:
    lines = (line for cell in column.cells for line in str(cell).splitlines())
    return max((cell_len(line) for line in lines), default=0)
