"""``proctor.jobs.scoring_process`` that is killed by one chunk, as by a library's fault."""

import os
import signal

from proctor.jobs import scoring_process

if __name__ == "__main__":
    scored = scoring_process.score

    def dies(order: scoring_process.Order) -> object:
        if order.place.chunk == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return scored(order)

    scoring_process.score = dies  # type: ignore[assignment]
    scoring_process.main()
