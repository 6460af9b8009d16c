"""The report's colours: readable in both themes, and never the only sign of anything."""

from __future__ import annotations

import pytest

from proctor.engine.outcomes import CURRENT_POLICY, OutcomeClass, Owner, load_policy
from proctor.reports.html.palette import ABSENT, GROUPS, HOLLOW, LOOKS, SURFACES, css_class, glyph_on, palette_css

THEMES = pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_every_class_has_a_look_and_a_glyph_of_its_own() -> None:
    assert set(LOOKS) == set(OutcomeClass)
    glyphs = [look.glyph for look in (*LOOKS.values(), *ABSENT.values())]
    assert len(glyphs) == len(set(glyphs))


def test_hue_follows_the_owner() -> None:
    for name, rule in load_policy(CURRENT_POLICY).classes.items():
        expected = "passed" if name is OutcomeClass.PASSED else rule.owner.value
        assert LOOKS[name].group == expected
    assert set(GROUPS) == {"passed", *(owner.value for owner in Owner)}


@THEMES
def test_fills_stand_out_and_carry_their_glyph(side: int) -> None:
    for look in (*LOOKS.values(), *ABSENT.values()):
        fill = look.fill[side]
        assert contrast(fill, SURFACES["bg"][side]) >= 3
        assert contrast(fill, SURFACES["raised"][side]) >= 3
        assert contrast(fill, glyph_on(fill)) >= 4.5


@THEMES
def test_words_are_readable_on_chip_and_page(side: int) -> None:
    for group in GROUPS.values():
        for surface in (group.tint[side], SURFACES["bg"][side], SURFACES["raised"][side]):
            assert contrast(group.text[side], surface) >= 4.5
    for name in ("ink", "muted", "accent"):
        for surface in ("bg", "raised"):
            assert contrast(SURFACES[name][side], SURFACES[surface][side]) >= 4.5


def test_the_sheet_has_every_class_in_both_themes() -> None:
    css = palette_css()
    for name in (*(one.value for one in OutcomeClass), *ABSENT):
        assert css.count(f".{name}{{--c:") == 2
        assert css.count(f".{name}{{--g:url(") == 1


def test_hollow_classes_have_no_fill() -> None:
    assert {"cancelled", "not_started", "withdrawn"} <= HOLLOW
    assert "passed" not in HOLLOW
    assert ".cancelled{--c:#7B7B7B;--f:transparent" in palette_css()


def test_an_unknown_class_looks_unclassified() -> None:
    assert css_class("passed") == "passed"
    assert css_class("not_started") == "not_started"
    assert css_class("</style>") == "unclassified"
