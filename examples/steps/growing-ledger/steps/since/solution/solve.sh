#!/bin/bash
# Builds on what the step before left.
python3 - <<'EDIT'
from pathlib import Path

path = Path("/app/ledger.py")
text = path.read_text()
head, _, _ = text.partition("def main():")
head = head.replace("import re\n", "import argparse\nimport json\nimport re\n")
head = head.replace("    return account, value", "    return day, account, value")
path.write_text(head + """def day(text):
    if not DATE.fullmatch(text):
        raise ValueError(text)
    return date.fromisoformat(text).isoformat()


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--since", type=day)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sums, known = {}, rates()
    with open(options.file, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                when, account, amount = entry(line, known)
            except (ValueError, KeyError):
                sys.exit(print(f"line {number} is wrong", file=sys.stderr) or 2)
            if when >= (options.since or ""):
                sums[account] = sums.get(account, 0) + amount
    told = {a: f"{t.quantize(CENT, ROUND_HALF_UP) or Decimal(0):.2f}" for a, t in sorted(sums.items())}
    if options.json:
        print(json.dumps(told))
    else:
        for account, total in told.items():
            print(account, total)


main()
""")
EDIT
