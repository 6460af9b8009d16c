"""How outcomes look: hue says whose it is, the glyph says which class, solid or open says whether there is a verdict.

Every fill has 3:1 on the page and every word 4.5:1 on its chip, in both themes; the tests compute it. A colour never
stands alone: a chip carries glyph and word, a square carries a glyph or a texture.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from proctor.engine.outcomes import OutcomeClass
from proctor.reports.html.sheets import resource

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


_TOKENS: Any = json.loads(resource("tokens.json"))
"""The one source of colours and glyphs: the dashboard is built from it too."""


def _pair(sides: Mapping[str, str]) -> tuple[str, str]:
    return sides["light"], sides["dark"]


def _look(said: Mapping[str, Any]) -> Look:
    return Look(said["group"], _pair(said["fill"]), said["glyph"], hollow=said.get("hollow", False))


SURFACES: Mapping[str, tuple[str, str]] = {name: _pair(sides) for name, sides in _TOKENS["surfaces"].items()}
GROUPS: Mapping[str, Group] = {
    name: Group(_pair(said["text"]), _pair(said["tint"])) for name, said in _TOKENS["groups"].items()
}
LOOKS: Mapping[OutcomeClass, Look] = {OutcomeClass(name): _look(said) for name, said in _TOKENS["outcomes"].items()}
ABSENT: Mapping[str, Look] = {name: _look(said) for name, said in _TOKENS["absent"].items()}
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
