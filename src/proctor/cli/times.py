"""Times as they are given on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import typer

__all__ = ["moment"]


def moment(text: str | None, option: str) -> datetime | None:
    """``2h`` is two hours ago; a time without a zone is UTC's, as all that Proctor prints. Names the option if not."""
    from proctor.engine.spec import parse_duration

    if text is None:
        return None
    try:
        if text[-1:].isalpha() and text[-1:] != "Z":
            return datetime.now(UTC) - timedelta(seconds=parse_duration(text))
        time_of = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(f"{text!r} is no time; give 2h, or 2026-07-01T12:00Z", param_hint=option) from error
    return time_of if time_of.tzinfo is not None else time_of.replace(tzinfo=UTC)
