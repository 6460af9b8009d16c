#!/bin/bash
# Python's own equality and floating point, and no look at the schema before the document.
cat > /app/check.py <<'PY'
import json
import re
import sys

PYTHON = {"null": type(None), "boolean": bool, "integer": int, "number": (int, float), "string": str, "array": list, "object": dict}
found = set()


def ok(schema, value):
    return not check(schema, value, "")


def check(schema, value, path):
    out = set()
    for word, arg in schema.items():
        good = True
        if word == "type":
            good = any(isinstance(value, PYTHON[name]) for name in (arg if isinstance(arg, list) else [arg]))
        elif word == "enum":
            good = value in arg
        elif word == "const":
            good = value == arg
        elif word in ("minimum", "maximum", "multipleOf") and isinstance(value, (int, float)):
            good = value >= arg if word == "minimum" else value <= arg if word == "maximum" else value % arg == 0
        elif word.endswith("Length") and isinstance(value, str) or word.endswith("Items") and isinstance(value, list) \
                or word.endswith("Keys") and isinstance(value, dict):
            good = len(value) >= arg if word.startswith("min") else len(value) <= arg
        elif word == "pattern" and isinstance(value, str):
            good = re.search(arg, value)
        elif word == "unique" and arg and isinstance(value, list):
            good = all(one not in value[:place] for place, one in enumerate(value))
        elif word == "items" and isinstance(value, list):
            for place, one in enumerate(value):
                if isinstance(arg, dict):
                    out |= check(arg, one, f"{path}/{place}")
                elif place < len(arg):
                    out |= check(arg[place], one, f"{path}/{place}")
        elif word == "keys" and isinstance(value, dict):
            for key in arg:
                if key in value:
                    out |= check(arg[key], value[key], f"{path}/{key}")
        elif word == "required" and isinstance(value, dict):
            good = all(key in value for key in arg)
        elif word == "closed" and arg and isinstance(value, dict):
            out |= {f"{path}/{key} closed" for key in value if key not in schema.get("keys", {})}
        elif word == "all":
            for one in arg:
                out |= check(one, value, path)
        elif word == "any":
            good = any(ok(one, value) for one in arg)
        elif word == "one":
            good = sum(ok(one, value) for one in arg) == 1
        elif word == "not":
            good = not ok(arg, value)
        elif word == "if":
            out |= check(schema.get("then" if ok(arg, value) else "else", {}), value, path)
        elif word == "use":
            out |= check(whole["define"][arg], value, path)
        if not good:
            out.add(f"{path} {word}")
    return out


try:
    whole, document = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
except ValueError:
    sys.exit(4)
try:
    found = check(whole, document, "")
except Exception:
    sys.exit(3)
print("\n".join(sorted(found)), end="\n" if found else "")
sys.exit(1 if found else 0)
PY
