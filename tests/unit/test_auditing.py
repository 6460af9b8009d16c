"""What people declare of names: a rule that can't be one, or that says two things of a name, is never followed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor.engine.auditing import Rules, RulesInvalid, read_rules
from proctor.sdk.audits import ProfileListInvalid, read_profile_list


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "", "It declares nothing"),
        ("suites = []\nvariants = []\n", "", "It declares nothing"),
        ("suites = ['']\n", "suites.0", "at least 1"),
        ("[[variants]]\npattern = '('\nprofile = 'x'\n", "variants.0.pattern", "no regular expression"),
        ("[[variants]]\npattern = 'a{99999999999}'\nprofile = 'x'\n", "variants.0.pattern", "no regular expression"),
        ("[[variants]]\npattern = '.*'\nprofile = '\\9'\n", "variants.0", "invalid group reference 9"),
        ("[[variants]]\npattern = '.*'\nprofile = '\\g<no>'\n", "variants.0", "unknown group name"),
        ("[[variants]]\npattern = '.*'\nprofile = '\\q'\n", "variants.0", "bad escape"),
        ("[[variants]]\npattern = ''\nprofile = 'x'\n", "variants.0.pattern", "at least 1"),
        ("[[variants]]\npattern = 'x'\nprofile = ''\n", "variants.0.profile", "at least 1"),
        ("[[variants]]\npattern = 'x'\nname = 'y'\n", "variants.0", "missing"),
        ("x = " + "[" * 50_000, "", "recursion"),
    ],
)
def test_a_rules_file_that_can_not_be_followed_is_refused(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RulesInvalid) as told:
        read_rules(path)
    assert str(told.value.where).startswith(f"{path}: {place}" if place else str(path))
    assert message in told.value.message


def rules(*variants: tuple[str, str]) -> Rules:
    return Rules.model_validate({"variants": [{"pattern": one, "profile": other} for one, other in variants]})


def test_rules_that_agree_are_one_and_those_that_do_not_are_two() -> None:
    both = rules((r"(.+)__high", r"\1"), (r"p1__.*", "p1"), (r"p2__.*", "p3"))
    assert both.variants_of("p1__high") == {"p1": r"(.+)__high"}
    assert set(both.variants_of("p2__high")) == {"p2", "p3"}
    assert both.variants_of("p1") == {}


def test_a_rule_to_a_profile_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RulesInvalid, match=r"r.toml: variants.1.profile: .* 'loop-9'. Did you mean 'loop-0'"):
        rules((r"(.+)__high", r"\1"), ("x", "loop-9")).check_profiles({"loop-0"}, where="r.toml")
    rules((r"(.+)__high", r"\1"), ("x", "loop-0")).check_profiles({"loop-0"}, where="r.toml")


@pytest.mark.parametrize(
    "text", ["[", "{}", '{"profiles": 3}', "[3]", '[{"title": "a"}]', "[" * 50_000, '[{"name": 3}]']
)
def test_what_is_no_list_of_profiles_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "list.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProfileListInvalid):
        read_profile_list(path)


def test_a_list_of_profiles_has_names_or_objects(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    for found in (["a", "b"], {"profiles": ["a", {"name": "b"}], "more": 1}):
        path.write_text(json.dumps(found), encoding="utf-8")
        assert read_profile_list(path) == ["a", "b"]
