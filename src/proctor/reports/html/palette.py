"""How outcomes look: hue says whose it is, the glyph says which class, solid or open says whether there is a verdict.

Every fill has 3:1 on the page and every word 4.5:1 on its chip, in both themes; the tests compute it. A colour never
stands alone: a chip carries glyph and word, a square carries a glyph or a texture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from proctor.engine.outcomes import OutcomeClass

__all__ = ["ABSENT", "GROUPS", "HOLLOW", "LOOKS", "SURFACES", "Group", "Look", "css_class", "glyph_on", "palette_css"]


@dataclass(frozen=True)
class Group:
    """Text and tint of the chips of one owner, light and dark."""

    text: tuple[str, str]
    tint: tuple[str, str]


@dataclass(frozen=True)
class Look:
    """One class: its chip's colours, its fill (light, dark) and its glyph in a box of 12 by 12."""

    group: str
    fill: tuple[str, str]
    glyph: str
    hollow: bool = False
    """Drawn as an outline: somebody's decision or nothing at all, not an event."""


SURFACES: Mapping[str, tuple[str, str]] = {
    "bg": ("#FFFFFF", "#0E1116"),
    "raised": ("#F6F7F9", "#171B22"),
    "ink": ("#14181F", "#E7EAF0"),
    "muted": ("#566070", "#9AA4B2"),
    "line": ("#DCE0E6", "#2B313B"),
    "border": ("#7F8896", "#6B7482"),
    "accent": ("#0B57D0", "#8AB4F8"),
}

GROUPS: Mapping[str, Group] = {
    "passed": Group(("#17573A", "#8CE4BA"), ("#E2F1E9", "#12301F")),
    "model": Group(("#4C5266", "#AEB5C6"), ("#ECEEF3", "#20242E")),
    "task": Group(("#7A33A6", "#DDA6F3"), ("#F5EAFB", "#2E1B38")),
    "provider": Group(("#7F4A0C", "#EEBA5C"), ("#FAEEDF", "#35260D")),
    "infrastructure": Group(("#1B3F9C", "#7FAAFA"), ("#E6ECFA", "#142449")),
    "policy": Group(("#7A1414", "#E58F84"), ("#FAE7E5", "#3B1A16")),
    "user": Group(("#595959", "#B0B0B0"), ("#F0F0F0", "#262626")),
    "nobody": Group(("#14181F", "#F4F6FA"), ("#E3E5E9", "#2B313B")),
}

LOOKS: Mapping[OutcomeClass, Look] = {
    OutcomeClass.PASSED: Look("passed", ("#1A613C", "#57C79A"), "M2.2 6.4l2.6 2.8 5-6.2"),
    OutcomeClass.FAILED: Look("model", ("#878DA3", "#636979"), "M3 3l6 6M9 3l-6 6"),
    OutcomeClass.AGENT_LIMIT: Look("model", ("#82889D", "#6C7383"), "M6 1.8a4.2 4.2 0 1 0 .01 0M6 3.8V6l1.8 1.2"),
    OutcomeClass.AGENT_REFUSED: Look("model", ("#777D92", "#7A8192"), "M6 1.8a4.2 4.2 0 1 0 .01 0M3.2 8.8l5.6-5.6"),
    OutcomeClass.AGENT_ERROR: Look("model", ("#6D7387", "#8990A1"), "M7 1.5L3.2 6.8h2.6L5 10.5l3.8-5.3H6.2z"),
    OutcomeClass.VERIFIER_ERROR: Look("task", ("#A663D3", "#D898F1"), "M2.5 4.5h7M2.5 7.5h7M8 2L4 10"),
    OutcomeClass.TASK_INVALID: Look("task", ("#B571E3", "#E6A5FF"), "M3 1.8h4l2.2 2.2v6.2H3zM4.8 6.6h2.6"),
    OutcomeClass.PROFILE_INVALID: Look(
        "user", ("#7B7B7B", "#8A8A8A"), "M6 1.6a2 2 0 1 0 .01 0M2.2 10.2a3.8 3.6 0 0 1 7.6 0", hollow=True
    ),
    OutcomeClass.PROVIDER_AUTH: Look(
        "provider", ("#A9661C", "#D4A141"), "M4.2 5.4V4a1.8 1.8 0 1 1 3.6 0v1.4M3 5.4h6v4.4H3z"
    ),
    OutcomeClass.PROVIDER_RATE_LIMIT: Look("provider", ("#C17D38", "#EEBA5C"), "M2 9.2h8M3.4 6.4h5.2M4.8 3.6h2.4"),
    OutcomeClass.PROVIDER_ERROR: Look("provider", ("#B9742E", "#E1AD4F"), "M6 2v4.6M6 9.4v.2"),
    OutcomeClass.AGENT_SETUP_ERROR: Look(
        "infrastructure", ("#1842A8", "#3E7EF5"), "M6 1.8v5.4M3.6 5L6 7.4 8.4 5M2.2 8.4v1.8h7.6V8.4"
    ),
    OutcomeClass.IMAGE_ERROR: Look(
        "infrastructure", ("#1D47AF", "#4283FA"), "M2 4l4-2 4 2v4L6 10 2 8zM2 4l4 2 4-2M6 6v4"
    ),
    OutcomeClass.SANDBOX_ERROR: Look(
        "infrastructure", ("#133BA2", "#3A7AF1"), "M2.2 2.2h7.6v7.6H2.2zM4.6 4.6l2.8 2.8M7.4 4.6L4.6 7.4"
    ),
    OutcomeClass.NODE_LOST: Look("infrastructure", ("#092F95", "#3271E8"), "M6 1.6v4M3.6 3.4a3.6 3.6 0 1 0 4.8 0"),
    OutcomeClass.LEASE_LOST: Look("infrastructure", ("#022289", "#2A69DF"), "M3 1.8h6L3 10.2h6z"),
    OutcomeClass.HARNESS_ERROR: Look(
        "infrastructure", ("#00137D", "#2260D8"), "M6 1.8v8.4M2.4 3.9l7.2 4.2M9.6 3.9L2.4 8.1"
    ),
    OutcomeClass.OUT_OF_MEMORY: Look("policy", ("#620000", "#D76F63"), "M3 10.2V1.8h6v8.4zM3 4.6h6M3 7.4h6"),
    OutcomeClass.BUDGET_EXHAUSTED: Look(
        "user",
        ("#7B7B7B", "#8A8A8A"),
        "M8.5 4a2.5 1.7 0 0 0-5 .2C3.5 6.5 8.5 5.6 8.5 8a2.5 1.7 0 0 1-5 .2M6 1.2v9.6",
        hollow=True,
    ),
    OutcomeClass.CANCELLED: Look("user", ("#7B7B7B", "#8A8A8A"), "M3 6h6", hollow=True),
    OutcomeClass.UNCLASSIFIED: Look(
        "nobody", ("#14181F", "#F4F6FA"), "M4 4.2a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4M6 9.8v.1"
    ),
}

ABSENT: Mapping[str, Look] = {
    "not_started": Look("user", ("#7F8896", "#6B7482"), "M6 5.9v.2", hollow=True),
    "withdrawn": Look("user", ("#7F8896", "#6B7482"), "M2.6 9.4l6.8-6.8", hollow=True),
}
"""What is no outcome: nothing has come of the cell yet, or nobody asks for it any more."""

HOLLOW: frozenset[str] = frozenset(
    name for name, look in ({one.value: look for one, look in LOOKS.items()} | dict(ABSENT)).items() if look.hollow
)
"""Classes that are drawn as an outline, with no fill to open."""

_INKS: tuple[str, str] = ("#FFFFFF", "#0B0E13")


def css_class(outcome: str) -> str:
    """The CSS class of an outcome; a class that this version does not know looks like an unclassified one."""
    known = outcome in ABSENT or outcome in OutcomeClass.__members__.values()
    return outcome if known else OutcomeClass.UNCLASSIFIED.value


def glyph_on(fill: str) -> str:
    """The ink that reads better on a fill."""
    return max(_INKS, key=lambda ink: _contrast(ink, fill))


def palette_css() -> str:
    """Custom properties for the surfaces and for every class, light, and dark on a screen that asks for it."""
    light = _theme(0) + "".join(f".{name}{{--g:{_glyph_url(look.glyph)}}}\n" for name, look in _looks().items())
    return f"{light}@media screen and (prefers-color-scheme:dark){{\n{_theme(1)}}}\n"


def _theme(side: int) -> str:
    surfaces = ";".join(f"--{name}:{pair[side]}" for name, pair in SURFACES.items())
    return f":root{{{surfaces}}}\n" + "".join(_rule(name, look, side) for name, look in _looks().items())


def _rule(name: str, look: Look, side: int) -> str:
    group, fill = GROUPS[look.group], look.fill[side]
    solid = "transparent" if look.hollow else fill
    ink = fill if look.hollow else glyph_on(fill)
    return f".{name}{{--c:{fill};--f:{solid};--on:{ink};--t:{group.text[side]};--b:{group.tint[side]}}}\n"


def _looks() -> dict[str, Look]:
    return {**{name.value: look for name, look in LOOKS.items()}, **ABSENT}


def _glyph_url(path: str) -> str:
    svg = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 12 12'><path fill='none' stroke='#000' "
        f"stroke-width='1.6' stroke-linecap='round' stroke-linejoin='round' d='{path}'/></svg>"
    )
    return 'url("data:image/svg+xml,' + quote(svg, safe=" =:/'") + '")'


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
