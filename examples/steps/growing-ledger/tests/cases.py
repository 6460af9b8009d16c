"""Shared by the judges of all steps: runs /app/ledger.py on ledgers that the agent has not seen."""

import json
import subprocess
import tempfile
from pathlib import Path

BASE = [
    ("one account", "2026-01-01,a,1.00\n", [], "a 1.00\n", 0),
    ("sorted by name", "2026-01-01,b,1\n2026-01-01,a,2.5\n", [], "a 2.50\nb 1.00\n", 0),
    ("exact sums", "2026-01-01,a,0.1\n" * 30 + "2026-01-01,a,90071992547409.93\n", [], "a 90071992547412.93\n", 0),
    ("negative", "2026-01-01,a,-0.05\n2026-01-02,a,-1\n", [], "a -1.05\n", 0),
    ("zero has no sign", "2026-01-01,a,-0.00\n2026-01-02,b,1\n2026-01-02,b,-1\n", [], "a 0.00\nb 0.00\n", 0),
    ("spaces, comments, empty lines", "# x,y\n\n 2026-01-01 , a b , 2 \n", [], "a b 2.00\n", 0),
    ("an empty ledger", "", [], "", 0),
    ("too few fields", "2026-01-01,a,1\n2026-01-01,a\n", [], "", 2),
    ("no such day", "2026-02-30,a,1\n", [], "", 2),
    ("another form of date", "20260201,a,1\n", [], "", 2),
    ("no account", "2026-02-01,,1\n", [], "", 2),
    ("three decimals", "2026-02-01,a,1.005\n", [], "", 2),
    ("an exponent", "2026-02-01,a,1e3\n", [], "", 2),
    ("not a number", "2026-02-01,a,NaN\n", [], "", 2),
]
CURRENCIES = [
    ("euro named", "2026-01-01,a,1,EUR\n2026-01-01,a,2\n", [], "a 3.00\n", 0),
    ("each entry is rounded", "2026-01-01,a,0.01,GBP\n" * 10, [], "a 0.10\n", 0),
    ("halves away from zero", "2026-01-01,a,1.00,USD\n2026-01-01,b,-1.00,USD\n", [], "a 0.93\nb -0.93\n", 0),
    ("small rates", "2026-01-01,a,1000,JPY\n2026-01-01,a,0.5,JPY\n", [], "a 6.10\n", 0),
    ("an unknown currency", "2026-01-01,a,1,XXX\n", [], "", 2),
    ("five fields", "2026-01-01,a,1,USD,x\n", [], "", 2),
]
SINCE = [
    ("since", "2026-01-01,a,1\n2026-01-02,b,2\n2026-01-03,b,3\n", ["--since", "2026-01-02"], "b 5.00\n", 0),
    ("since nothing", "2026-01-01,a,1\n", ["--since", "2027-01-01"], "", 0),
    ("lines before must be right", "2026-01-01,a,x\n2026-01-02,b,2\n", ["--since", "2026-01-02"], "", 2),
    ("since what", "2026-01-01,a,1\n", ["--since", "yesterday"], "", 2),
    ("since without a date", "2026-01-01,a,1\n", ["--since"], "", 2),
    ("an unknown option", "2026-01-01,a,1\n", ["--until", "2026-01-01"], "", 2),
    ("json", "2026-01-01,b,1\n2026-01-01,a,-2\n", ["--json"], {"a": "-2.00", "b": "1.00"}, 0),
    ("both", "2026-01-01,b,1\n2026-01-09,a,1,USD\n", ["--json", "--since", "2026-01-02"], {"a": "0.93"}, 0),
]


def right(case):
    """Whether the program does what is wanted, with its options before and after the file."""
    title, ledger, options, wanted, code = case
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "ledger of a shop.csv"
        file.write_text(ledger)
        good = True
        for arguments in ([*options, str(file)], [str(file), *options]):
            command = ["python3", "-I", "-B", "/app/ledger.py", *arguments]
            ran = subprocess.run(command, capture_output=True, timeout=20, text=True, cwd=place)
            good = good and ran.returncode == code and bool(ran.stderr.strip()) == (code == 2)
            good = good and same(ran.stdout, wanted)
    print(f"{'right' if good else 'WRONG'}: {title}")
    return good


def same(printed, wanted):
    if isinstance(wanted, str):
        return printed == wanted
    try:
        return list(json.loads(printed).items()) == list(wanted.items())
    except ValueError:
        return False


def judge(cases):
    """Print the rewards: 1 only if every case is right, and the share of the cases. No program has none right."""
    there = Path("/app/ledger.py").is_file()
    results = [there and right(case) for case in cases]
    print(json.dumps({"reward": int(all(results)), "cases": round(sum(results) / len(results), 4)}))
