"""Runs /app/clean.py on bytes that the agent has not seen, and looks at the list that it was to clean."""

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

GUESTS = (
    "Zo\u00eb Smith|table 4\nBj\u00f6rk \u2013 late\nFran\u00e7ois\nAndr\u00e9 \u20ac20\nPlain Jane\nJos\u00e9\n"
    "odd \ufffd byte \u201cquoted\u201d\n\u738b\u5c0f\u660e\n\nRen\u00e9e|no line end\n"
)
CASES = {
    "UTF-8 stays": ("na\u00efve \u20ac\n".encode(), "na\u00efve \u20ac\n"),
    "Windows-1252 is not latin-1": (b"\x80 \x93a\x94 \x9c\n", "\u20ac \u201ca\u201d \u0153\n"),
    "undefined bytes": (b"\x81\x8d\x8f\x90\x9d\xe9\n", "\ufffd" * 5 + "\u00e9\n"),
    "lines are judged one by one": (b"\xc3\xa9\n\xe9\n\xc3\xa9\xe9\n", "\u00e9\n\u00e9\n\u00c3\u00a9\u00e9\n"),
    "both line ends": (b"a\r\nb\n\r\nc\r\n", "a\nb\n\nc\n"),
    "a last line without an end": (b"a\nb", "a\nb\n"),
    "a lone carriage return": (b"a\rb\rc\n", "a\rb\rc\n"),
    "other line separators": ("a\u2028b\u0085c\x0bd\x0ce\n".encode(), "a\u2028b\u0085c\x0bd\x0ce\n"),
    "marks": (b"\xef\xbb\xbfa\n\xef\xbb\xbf\xe9\nb\xef\xbb\xbf\n", "a\n\u00e9\nb\ufeff\n"),
    "two marks": (b"\xef\xbb\xbf\xef\xbb\xbfa\n", "\ufeffa\n"),
    "nothing": (b"", ""),
    "empty lines": (b"\n\n", "\n\n"),
}


def case(given, wanted):
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place) / "in put", Path(place) / "out put"
        source.write_bytes(given)
        done = python("/app/clean.py", str(source), str(target))
        return done.returncode == 0 and done.stdout == "" and target.read_bytes() == wanted.encode()


checks = {title: lambda pair=pair: case(*pair) for title, pair in CASES.items()}
checks["the guests"] = lambda: Path("/app/guests.clean.txt").read_bytes() == GUESTS.encode()
score(checks)
