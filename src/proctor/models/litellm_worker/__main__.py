"""``python -m proctor.models.litellm_worker``: started by ``client``, never by hand."""

from __future__ import annotations

import sys

from proctor.models.litellm_worker.worker import main

if __name__ == "__main__":
    sys.exit(main())
