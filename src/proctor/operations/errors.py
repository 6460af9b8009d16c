"""Errors of long work.

ProctorError
├── UsageError
│   ├── OperationUnknown    nothing of that id
│   ├── OperationEnded      it can't be cancelled any more
│   ├── OperationsFull      too many wait already
│   └── DownloadUnknown     nothing to download, or not by this link
└── OwnFault
    └── OperationLost       every process that worked on it died
"""

from __future__ import annotations

from proctor.kernel.errors import OwnFault, UsageError

__all__ = ["DownloadUnknown", "OperationEnded", "OperationLost", "OperationUnknown", "OperationsFull"]


class OperationUnknown(UsageError):
    """There is no such operation."""

    code = "operation-unknown"
    remedy = "`proctor operation list` names those there are."


class OperationEnded(UsageError):
    """The operation has ended already."""

    code = "operation-ended"


class OperationsFull(UsageError):
    """As much long work as one tenant may have waits already."""

    code = "operations-full"
    remedy = "Wait for some of it, or cancel it: `proctor operation list`."


class DownloadUnknown(UsageError):
    """There is nothing to download here, or not any more."""

    code = "download-unknown"
    remedy = "Ask for a new link, or export again: downloads are kept for a week, links work for an hour at the most."


class OperationLost(OwnFault):
    """Every process that worked on it died."""

    code = "operation-lost"
    remedy = "The server's log has why; ask for it again once that is mended."
