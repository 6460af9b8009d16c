"""What a server answers of a run set's cells."""

from __future__ import annotations

from proctor.engine.matrices import Matrix, MatrixIds
from proctor.sdk.cells import CellDetail
from proctor.sdk.remote.answers import part, read, run_set_path
from proctor.sdk.remote.transport import Transport

__all__ = ["RemoteCells"]


class RemoteCells:
    """Of one tenant."""

    transport: Transport

    def matrix(self, reference: str | None) -> Matrix:
        """All cells of a run set as columns, with the event from which on to follow them."""
        return read(Matrix, self.transport.get(f"{run_set_path(reference)}/matrix"))

    def matrix_ids(self, reference: str | None) -> MatrixIds:
        """The ids of the cells of a run set's matrix, in its order."""
        return read(MatrixIds, self.transport.get(f"{run_set_path(reference)}/matrix/ids"))

    def cell(self, reference: str | None, cell: str) -> CellDetail:
        """A cell of a run set by its id or the beginning of one, with all attempts at it."""
        return read(CellDetail, self.transport.get(f"{run_set_path(reference)}/cells/{part(cell)}"))
