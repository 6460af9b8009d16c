"""JSON Schemas of hostile people, over outputs of hostile programs.

No reference leads out of a schema, and nothing is fetched. Patterns are RE2's, since one of Python's may take for ever.
Equal items are found by their canonical form, in one pass. A schema that makes more work of an output than
``MOST_WORK`` is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

from proctor.evaluators.metrics.regex import fits, pattern_problem
from proctor.kernel.canonical import Json, canonical_json

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

__all__ = ["MOST_WORK", "Guarded", "TooMuchWork", "schema_problem"]

MOST_WORK: int = 1_000_000
"""Keywords looked at, and hundreds of characters of complaints, for one output: a few seconds at the most."""
_REFERENCES: tuple[str, ...] = ("$ref", "$dynamicRef", "$recursiveRef")
_Keyword = Callable[["Validator", Json, Json, Mapping[str, Json]], "Iterable[ValidationError] | None"]


class TooMuchWork(Exception):
    """Judging an output by a schema takes more than is given to it."""


class _Work:
    """What is left of ``MOST_WORK``."""

    def __init__(self) -> None:
        self.left = MOST_WORK

    def spend(self, amount: int) -> None:
        """Raises ``TooMuchWork``."""
        self.left -= amount
        if self.left < 0:
            raise TooMuchWork("the schema makes too much work of the output")


_WORK: ContextVar[_Work] = ContextVar("work")
"""Of the output that is looked at: validators are the same for all."""


def schema_problem(schema: Mapping[str, Json] | bool) -> str | None:
    """Why a schema can't be used; ``None``: it can."""
    from jsonschema.exceptions import SchemaError

    if isinstance(schema, bool):
        return None
    problem = next(_dangers(schema), None) or _blind_spot(schema)
    if problem is not None:
        return problem
    try:
        _kind_of(schema).check_schema(schema, format_checker=None)
    except SchemaError as error:
        return f"{error.json_path}: {error.message[:200]}"
    except RecursionError:
        return "it is too deep"
    return None


class Guarded:
    """A schema that ``schema_problem`` has nothing against."""

    def __init__(self, schema: Mapping[str, Json] | bool) -> None:
        import referencing

        self._validator = _guarded(_kind_of(schema))(schema, registry=referencing.Registry())

    def allows(self, value: Json) -> bool:
        """Whether the schema allows a value. Raises ``TooMuchWork``."""
        from referencing.exceptions import Unresolvable

        spent = _WORK.set(_Work())
        try:
            return bool(self._validator.is_valid(value))
        except Unresolvable as error:
            raise TooMuchWork(f"the schema refers to {error.ref[:100]!r}, which it does not hold") from error
        except RecursionError as error:
            raise TooMuchWork("the schema refers to itself without end") from error
        finally:
            _WORK.reset(spent)


# --- what is refused --------------------------------------------------------------------------------------------------


def _dangers(schema: Json, *, is_root: bool = True) -> Iterator[str]:
    """What would pass by the guards, looked for everywhere: a reference may lead to any part of a schema."""
    if isinstance(schema, Mapping):
        if "$schema" in schema and not is_root:
            yield "`$schema` is said at the top alone"
        for name in _REFERENCES:
            reference = schema.get(name)
            if isinstance(reference, str) and not reference.startswith("#"):
                yield f"{name} {reference[:100]!r} leads out of the schema; nothing is fetched"
        patterns = [schema.get("pattern"), *_keys(schema.get("patternProperties"))]
        yield from (problem for one in patterns if isinstance(one, str) and (problem := pattern_problem(one)))
    for inner in _parts(schema):
        yield from _dangers(inner, is_root=False)


def _blind_spot(schema: Json) -> str | None:
    """The library looks for evaluated properties with Python's patterns."""
    both = {"unevaluatedProperties", "patternProperties"}
    if both <= _names(schema):
        return "`unevaluatedProperties` and `patternProperties` can't be checked in one schema here"
    return None


def _names(schema: Json) -> set[str]:
    return set(_keys(schema)).union(*map(_names, _parts(schema)))


def _keys(value: Json) -> Iterable[str]:
    return value.keys() if isinstance(value, Mapping) else ()


def _parts(value: Json) -> Iterable[Json]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


# --- what is done otherwise than by the library -----------------------------------------------------------------------


def _kind_of(schema: Mapping[str, Json] | bool) -> type[Validator]:
    from jsonschema.validators import Draft202012Validator, validator_for

    return cast("type[Validator]", validator_for(schema, default=Draft202012Validator))


_GUARDED: dict[str, type[Validator]] = {}
"""By the identity of a draft's own schema; there are as many as there are drafts."""


def _guarded(kind: type[Validator]) -> type[Validator]:
    """A kind of validator with the guards in it."""
    name = str(kind.META_SCHEMA.get("$id") or kind.META_SCHEMA.get("id"))
    if name not in _GUARDED:
        _GUARDED[name] = _extended(kind)
    return _GUARDED[name]


def _extended(kind: type[Validator]) -> type[Validator]:
    from jsonschema.validators import extend

    own = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    keywords = {name: own.get(name, keyword) for name, keyword in kind.VALIDATORS.items()}
    counted = {name: _counted(keyword) for name, keyword in keywords.items()}
    return cast("type[Validator]", extend(kind, validators=counted))


def _counted(keyword: _Keyword) -> _Keyword:
    def counting(
        validator: Validator, value: Json, instance: Json, schema: Mapping[str, Json]
    ) -> Iterator[ValidationError]:
        work = _WORK.get()
        work.spend(1)
        for error in keyword(validator, value, instance, schema) or ():
            work.spend(1 + len(error.message) // 100)
            yield error

    return counting


def _error(message: str) -> ValidationError:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _pattern(
    validator: Validator, pattern: Json, instance: Json, schema: Mapping[str, Json]
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and isinstance(pattern, str) and not fits(instance, pattern):
        yield _error("it does not fit the pattern")


def _pattern_properties(
    validator: Validator, patterns: Json, instance: Json, schema: Mapping[str, Json]
) -> Iterator[ValidationError]:
    if isinstance(instance, dict) and isinstance(patterns, dict):
        for pattern, inner in patterns.items():
            for name in instance:
                _WORK.get().spend(1)
                if fits(name, pattern):
                    yield from validator.descend(instance[name], inner, path=name, schema_path=pattern)


def _additional_properties(
    validator: Validator, inner: Json, instance: Json, schema: Mapping[str, Json]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    named, patterns = set(_keys(schema.get("properties"))), list(_keys(schema.get("patternProperties")))
    for name in instance:
        _WORK.get().spend(1 + len(patterns))
        if name in named or any(fits(name, pattern) for pattern in patterns):
            continue
        if inner is False:
            yield _error("it has a property that is not allowed")
        else:
            yield from validator.descend(instance[name], inner, path=name)


def _unique_items(
    validator: Validator, wanted: Json, instance: Json, schema: Mapping[str, Json]
) -> Iterator[ValidationError]:
    if wanted is True and isinstance(instance, list):
        forms = {_form(one) for one in instance}
        if len(forms) < len(instance):
            yield _error("it has equal items")


def _form(value: Json) -> bytes:
    """Equal values have one; an integer that RFC 8785 can't hold is its own."""
    try:
        return canonical_json(value)
    except ValueError:
        return repr(value).encode()
