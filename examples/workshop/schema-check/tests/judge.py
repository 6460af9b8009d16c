"""Runs /app/check.py; each case is a schema and documents with the violations that must be told, written down here."""

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

# title: (schema, {document: violations, separated by ", "}); a number in their place is the exit code
CASES = {
    "type": ('{"type": "integer"}', {"1": "", "-0.0": "", "1e2": "", "1.5": " type", "true": " type", '"1"': " type", "null": " type"}),
    "types": ('{"type": ["number", "null"]}', {"1.5": "", "1": "", "null": "", "false": " type", "[]": " type", "{}": " type"}),
    "enum": ('{"enum": [1, "a", [true], {"x": 1, "y": [0]}, null]}',
             {"1.0": "", '"a"': "", "[true]": "", '{"y": [0.0], "x": 1}': "", "null": "", "true": " enum", "[1]": " enum", "false": " enum", "0": " enum"}),
    "const": ('{"const": 0}', {"0": "", "0.00": "", "-0": "", "false": " const", '""': " const", "null": " const"}),
    "bounds": ('{"minimum": 1, "maximum": 2.5}', {"1": "", "2.5": "", "0.99": " minimum", "3": " maximum", '"0"': "", "true": "", "[]": ""}),
    "large bounds": ('{"minimum": 12345678901234567890}', {"12345678901234567890": "", "12345678901234567889": " minimum", "12345678901234567889.9": " minimum", "1e400": ""}),
    "multiples": ('{"multipleOf": 0.1}', {"0.3": "", "1": "", "-0.7": "", "0": "", "0.35": " multipleOf", "1e30": "", "true": ""}),
    "lengths": ('{"minLength": 2, "maxLength": 3}', {'"ab"': "", '"\U0001f600\U0001f600\U0001f600"': "", '"a"': " minLength", '"abcd"': " maxLength", "[1]": "", "1": ""}),
    "numbers of items and keys": ('{"minItems": 1.0, "maxItems": 2, "minKeys": 1, "maxKeys": 1}',
                                  {"[]": " minItems", "[1, 2]": "", "[1, 2, 3]": " maxItems", "{}": " minKeys", '{"a": 1}': "", '{"a": 1, "b": 2}': " maxKeys", '""': ""}),
    "pattern": ('{"pattern": "b+"}', {'"abc"': "", '"ac"': " pattern", "5": "", '"\\nb"': ""}),
    "unique": ('{"unique": true}', {'[1, true, 0, false, null, "1", [], {}]': "", "[1, 1.0]": " unique", '[{"a": 1, "b": 2}, {"b": 2, "a": 1}]': " unique", "[[1], [true]]": "", '"aa"': ""}),
    "not unique": ('{"unique": false}', {"[1, 1]": ""}),
    "items": ('{"items": {"type": "integer"}}', {"[]": "", "[1, 2]": "", '[1, "a", null]': "/1 type, /2 type", '{"a": "b"}': ""}),
    "items in order": ('{"items": [{"type": "integer"}, {"type": "string"}]}', {"[]": "", "[1]": "", '[1, "a", 5]': "", '["a", 1]': "/0 type, /1 type"}),
    "keys": ('{"keys": {"a": {"minimum": 5}, "b": {"type": "null"}}}', {"{}": "", '{"a": 4, "c": 1}': "/a minimum", '{"b": 0, "a": 5}': "/b type", "[]": ""}),
    "required": ('{"required": ["a", "b"]}', {'{"a": null, "b": 1}': "", '{"a": 1}': " required", "{}": " required", "[]": ""}),
    "closed": ('{"closed": true, "keys": {"a": {}}, "all": [{"keys": {"b": {}}}]}', {'{"a": 1}': "", '{"a": 1, "b": 2, "c": 3}': "/b closed, /c closed", "[]": ""}),
    "not closed": ('{"closed": false}', {'{"a": 1}': ""}),
    "pointers": ('{"keys": {"a/b": {"items": {"keys": {"~1": {"type": "null"}}}}, "": {"type": "null"}}, "closed": true}',
                 {'{"a/b": [{}, {"~1": 5}], "": 1, "m~n/o": 2}': "/ type, /a~1b/1/~01 type, /m~0n~1o closed"}),
    "sorted": ('{"items": {"type": "null"}, "minItems": 20}', {"[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]": " minItems, /0 type, /1 type, /10 type, /2 type, /3 type, /4 type, /5 type, /6 type, /7 type, /8 type, /9 type"}),
    "all": ('{"all": [{"type": "string"}, {"minLength": 3}, {"minLength": 4}]}', {'"abcd"': "", '"abc"': " minLength", '"a"': " minLength", "5": " type"}),
    "any": ('{"any": [{"type": "string", "minLength": 2}, {"keys": {"a": {"type": "null"}}, "required": ["a"], "type": "object"}]}',
            {'"ab"': "", '"a"': " any", '{"a": null}': "", '{"a": 1}': " any", "1": " any"}),
    "any of none": ('{"any": []}', {"1": " any"}),
    "one": ('{"one": [{"type": "number"}, {"minimum": 5}]}', {"3": "", '"a"': "", "7": " one"}),
    "not": ('{"not": {"items": {"type": "integer"}}}', {'["a"]': "", "[1]": " not", '"a"': " not"}),
    "if": ('{"if": {"required": ["a"]}, "then": {"keys": {"a": {"type": "null"}}}, "else": {"minKeys": 1, "type": "object"}}',
           {'{"a": null}': "", '{"a": 1}': "/a type", "{}": " minKeys", '{"b": 1}': "", "5": ""}),
    "branches alone": ('{"then": {"type": "null"}, "else": {"type": "null"}}', {"1": ""}),
    "if alone": ('{"items": {"if": {"type": "null"}, "else": {"minimum": 1}}}', {"[null, 1, 0]": "/2 minimum"}),
    "definitions": ('{"define": {"tree": {"type": "object", "closed": true, "keys": {"sub": {"items": {"use": "tree"}}, "n": {"use": "n"}}}, "n": {"type": "integer", "about": 5}}, "use": "tree"}',
                    {'{"n": 1, "sub": [{"sub": []}, {"n": 2}]}': "", '{"sub": [{}, {"sub": [{"n": "x"}, 5, {"m": 1}]}]}': "/sub/1/sub/0/n type, /sub/1/sub/1 type, /sub/1/sub/2/m closed"}),
    "definitions beside keywords": ('{"define": {"a": {"minimum": 2}}, "use": "a", "maximum": 1}', {"0": " minimum", "3": " maximum", "1.5": " maximum,  minimum"}),
    "circles": ('{"define": {"a": {"any": [{"use": "b"}]}, "b": {"if": {}, "else": {"use": "a"}}}}', {"1": 3}),
    "a circle by itself": ('{"define": {"a": {"not": {"use": "a"}}}}', {"1": 3}),
    "circles that go down": ('{"define": {"a": {"items": [{"use": "b"}]}, "b": {"all": [{"use": "a"}]}}, "use": "b"}', {"[[[]]]": ""}),
    "an empty schema": ("{}", {"1": "", '{"a": [1]}': ""}),
    "repeated lines": ('{"all": [{"type": "null"}, {"type": "null"}], "type": "null"}', {"1": " type"}),
}  # fmt: skip
INVALID = """[]|{"typ": "null"}|{"type": "int"}|{"type": [null]}|{"enum": 1}|{"maximum": true}|{"multipleOf": 0}|{"minLength": -1}
{"maxItems": 1.5}|{"minKeys": true}|{"pattern": "("}|{"unique": 1}|{"items": [5]}|{"keys": {"a": {"x": 1}}}|{"required": [1]}|{"all": {}}
{"not": []}|{"then": {"x": 1}}|{"use": "a"}|{"define": {"a": {"x": 1}}}|{"items": {"define": {}}}|{"define": {"a": {"use": "b"}}}"""
NOT_JSON = [
    b"",
    b"{",
    b"NaN",
    b"[-Infinity]",
    b'{"a": 1, "a": 1}',
    b'[{"b": {"a": 1, "a": 2}}]',
    b'"\xff"',
    b"01",
    b"'a'",
    b"[1,]",
    b"1 2",
]


def asked(schema, document):
    with tempfile.TemporaryDirectory() as place:
        paths = [Path(place) / "the schema", Path(place) / "the document"]
        for path, text in zip(paths, (schema, document), strict=True):
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = python("/app/check.py", *map(str, paths))
    return done.returncode, done.stdout


def case(schema, documents):
    good = True
    for document, wanted in documents.items():
        lines = [] if wanted == "" else str(wanted).split(", ")
        answer = (wanted, "") if isinstance(wanted, int) else (int(bool(lines)), "".join(f"{line}\n" for line in lines))
        if asked(schema, document) != answer:
            print("wrong:", document)
            good = False
    return good


def invalid():
    bad = [schema for line in INVALID.splitlines() for schema in line.split("|") if asked(schema, "1") != (3, "")]
    print("not refused:", bad)
    return not bad


def not_json():
    asked_of = [("{}", text) for text in NOT_JSON] + [(text, "1") for text in NOT_JSON[:5]]
    bad = [pair for pair in asked_of if asked(*pair) != (4, "")]
    print("not refused:", bad)
    return not bad


checks = {title: lambda one=one: case(*one) for title, one in CASES.items()}
score({**checks, "schemas that are not valid": invalid, "what is not JSON": not_json})
