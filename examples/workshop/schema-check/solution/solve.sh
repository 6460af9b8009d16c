#!/bin/bash
cat > /app/check.py <<'PY'
"""Validates a JSON document by a small schema language."""

import json
import re
import sys
from decimal import Context, Decimal, Inexact
from pathlib import Path

EXACT = Context(prec=5000, Emax=999999, Emin=-999999)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


class Invalid(Exception):
    pass


def load(path):
    def no_constant(text):
        raise ValueError(text)

    def pairs(found):
        if len(dict(found)) != len(found):
            raise ValueError("a key comes twice")
        return dict(found)

    text = Path(path).read_bytes().decode("utf-8")
    return json.loads(text, parse_int=Decimal, parse_float=Decimal, parse_constant=no_constant, object_pairs_hook=pairs)


def types_of(value):
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, Decimal):
        return {"number", "integer"} if value == value.to_integral_value(context=EXACT) else {"number"}
    return {{str: "string", list: "array", dict: "object"}[type(value)]}


def frozen(value):
    """Equal where JSON values are equal, and nowhere else."""
    if isinstance(value, list):
        return ("array", *map(frozen, value))
    if isinstance(value, dict):
        return ("object", frozenset((key, frozen(one)) for key, one in value.items()))
    return ("boolean" if isinstance(value, bool) else "value", value)


# What the value of a keyword must be.

def need(good):
    if not good:
        raise Invalid


def is_count(value):
    need("integer" in types_of(value) and value >= 0)


def is_number(value):
    need("number" in types_of(value))


def is_true_or_false(value):
    need(isinstance(value, bool))


def is_types(value):
    names = value if isinstance(value, list) else [value]
    need(all(isinstance(name, str) and name in TYPES for name in names))


def is_pattern(value):
    need(isinstance(value, str))
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError):
        raise Invalid from None


def is_names(value):
    need(isinstance(value, list) and all(isinstance(one, str) for one in value))


FORMS = {
    "type": is_types, "enum": lambda value: need(isinstance(value, list)), "const": lambda value: None,
    "minimum": is_number, "maximum": is_number, "multipleOf": lambda value: need("number" in types_of(value) and value > 0),
    "minLength": is_count, "maxLength": is_count, "minItems": is_count, "maxItems": is_count, "minKeys": is_count,
    "maxKeys": is_count, "pattern": is_pattern, "unique": is_true_or_false, "closed": is_true_or_false,
    "required": is_names, "about": lambda value: None,
}
HERE = {"all": list, "any": list, "one": list, "not": dict, "if": dict, "then": dict, "else": dict}


def check_schema(schema, names, outermost=False):
    """Raises Invalid; gives the names that are used for the same value."""
    need(isinstance(schema, dict))
    used = set()
    for keyword, value in schema.items():
        if keyword in FORMS:
            FORMS[keyword](value)
        elif keyword in HERE:
            need(isinstance(value, HERE[keyword]))
            for one in value if isinstance(value, list) else [value]:
                used |= check_schema(one, names)
        elif keyword == "items":
            for one in value if isinstance(value, list) else [value]:
                check_schema(one, names)
        elif keyword == "keys":
            need(isinstance(value, dict))
            for one in value.values():
                check_schema(one, names)
        elif keyword == "use":
            need(isinstance(value, str) and value in names)
            used.add(value)
        else:
            need(keyword == "define" and outermost)
    return used


def check_whole(schema):
    need(isinstance(schema, dict))
    define = schema.get("define", {})
    need(isinstance(define, dict))
    check_schema(schema, define, outermost=True)
    uses = {name: check_schema(one, define) for name, one in define.items()}
    while True:
        free = {name for name, others in uses.items() if not others & uses.keys()}
        if not free:
            break
        for name in free:
            del uses[name]
    need(not uses)
    return define


class Checker:
    def __init__(self, define):
        self.define = define

    def holds(self, schema, value):
        return not self.violations(schema, value, "")

    def violations(self, schema, value, path):
        found = {f"{path} {keyword}" for keyword in schema if not self.simple(keyword, schema[keyword], value)}
        for one, inner, below in self.others(schema, value, path):
            found |= self.violations(one, inner, below)
        if isinstance(value, dict) and schema.get("closed"):
            known = schema.get("keys", {})
            found |= {f"{path}/{escaped(key)} closed" for key in value if key not in known}
        return found

    def simple(self, keyword, wanted, value):
        kinds = types_of(value)
        number, text = "number" in kinds, isinstance(value, str)
        size = len(value) if isinstance(value, (str, list, dict)) else 0
        match keyword:
            case "type":
                return bool(kinds & set(wanted if isinstance(wanted, list) else [wanted]))
            case "enum":
                return frozen(value) in map(frozen, wanted)
            case "const":
                return frozen(value) == frozen(wanted)
            case "minimum":
                return not number or value >= wanted
            case "maximum":
                return not number or value <= wanted
            case "multipleOf":
                return not number or EXACT.remainder(value, wanted) == 0
            case "minLength" | "minItems" | "minKeys":
                return not isinstance(value, SIZED[keyword[3:]]) or size >= wanted
            case "maxLength" | "maxItems" | "maxKeys":
                return not isinstance(value, SIZED[keyword[3:]]) or size <= wanted
            case "pattern":
                return not text or re.search(wanted, value) is not None
            case "unique":
                return not wanted or not isinstance(value, list) or len(set(map(frozen, value))) == len(value)
            case "required":
                return not isinstance(value, dict) or all(key in value for key in wanted)
            case "any":
                return any(self.holds(one, value) for one in wanted)
            case "one":
                return sum(self.holds(one, value) for one in wanted) == 1
            case "not":
                return not self.holds(wanted, value)
        return True

    def others(self, schema, value, path):
        for one in schema.get("all", []):
            yield one, value, path
        if "use" in schema:
            yield self.define[schema["use"]], value, path
        if "if" in schema:
            branch = "then" if self.holds(schema["if"], value) else "else"
            yield schema.get(branch, {}), value, path
        if isinstance(value, list) and "items" in schema:
            items = schema["items"] if isinstance(schema["items"], list) else [schema["items"]] * len(value)
            for place, (one, inner) in enumerate(zip(items, value)):
                yield one, inner, f"{path}/{place}"
        if isinstance(value, dict):
            for key, one in schema.get("keys", {}).items():
                if key in value:
                    yield one, value[key], f"{path}/{escaped(key)}"


SIZED = {"Length": str, "Items": list, "Keys": dict}


def escaped(key):
    return key.replace("~", "~0").replace("/", "~1")


def main():
    try:
        schema, document = load(sys.argv[1]), load(sys.argv[2])
    except (ValueError, OSError):
        sys.exit(4)
    try:
        define = check_whole(schema)
    except Invalid:
        sys.exit(3)
    found = sorted(Checker(define).violations(schema, document, ""))
    sys.stdout.reconfigure(encoding="utf-8")
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
PY
