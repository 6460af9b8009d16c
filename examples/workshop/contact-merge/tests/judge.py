"""Runs /app/merge.py on lists that the agent has not seen. What must come out is written down here."""

import csv
import io
import random
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

HEAD = "name,email,phone,updated\n"
A = "a@x.org,,2026-01-01"
# title: (files, rows that come out, how many are rejected)
CASES = {
    "names": (["  Ada \t B  ,a@x.org,,\n"], ["Ada B,a@x.org,,"], 0),
    "emails": (["A, A@X.Org ,,\nB,b@x,,\nC,c@@x.org,,\nD,d d@x.org,,\nE,@x.org,,\nF,f@.,,\n"],
               ["A,a@x.org,,", "F,f@.,,"], 4),
    "phones": (["A,,(00) 12-34.56/7 8,\nB,,123 456,\nC,,+1234567,\nD,,12+34567,\nE,,1234567890123456,\nF,,123456x7,\nG,,\u0661234567,\n"],
               ["A,,+12345678,", "C,,+1234567,"], 5),
    "with and without plus are two": (["A,,1234567,\nB,,+1234567,\n"], ["A,,1234567,", "B,,+1234567,"], 0),
    "dates": (["A,a@x.org,,2026-02-28\nB,b@x.org,,28.02.2026\nC,c@x.org,,2026-02-29\nD,d@x.org,,2026-2-01\nE,e@x.org,,20260201\n"],
              ["A,a@x.org,,2026-02-28", "B,b@x.org,,2026-02-28", "C,c@x.org,,", "D,d@x.org,,", "E,e@x.org,,"], 0),
    "day first": (["A,a@x.org,,01/02/2026\nB,b@x.org,,13/02/2026\n"], ["A,a@x.org,,2026-02-01", "B,b@x.org,,2026-02-13"], 0),
    "month first": (["A,a@x.org,,01/02/2026\nB,b@x.org,,02/13/2026\n"], ["A,a@x.org,,2026-01-02", "B,b@x.org,,2026-02-13"], 0),
    "slashes of one file say nothing of another": (
        ["A,a@x.org,,01/02/2026\nB,b@x.org,,13/02/2026\n", "C,c@x.org,,01/02/2026\n"],
        ["A,a@x.org,,2026-02-01", "B,b@x.org,,2026-02-13", "C,c@x.org,,"], 0),
    "slashes both ways": (["A,a@x.org,,13/02/2026\nB,b@x.org,,02/13/2026\nC,c@x.org,,2026-03-01\n"],
                          ["A,a@x.org,,", "B,b@x.org,,", "C,c@x.org,,2026-03-01"], 0),
    "an impossible date is a sign": (["A,a@x.org,,31/31/2026\nB,b@x.org,,20/02/2026\n"], ["A,a@x.org,,", "B,b@x.org,,"], 0),
    "a rejected row's date is a sign": (["A,a@x.org,,01/02/2026\nB,,,13/02/2026\n"], ["A,a@x.org,,2026-02-01"], 1),
    "by way of others": (["A,a@x.org,1111111,2026-01-01\n", "B,b@x.org,2222222,2026-01-02\n", "C,b@x.org,1111111,2025-01-01\n"],
                         ["B,a@x.org;b@x.org,1111111;2222222,2026-01-02"], 0),
    "two emails share a phone": (["A,a@x.org,1111111,\nB,b@x.org,1111111,\nC,,1111111,\n"], ["C,a@x.org;b@x.org,1111111,"], 0),
    "a switchboard": (["A,a@x.org,1111111,\nB,b@x.org,1111111,\nC,c@x.org,111-1111,\nD,,1111111,\nE,,1111111,\nA,a@x.org,3333333,\n"],
                      ["A,a@x.org,1111111;3333333,", "B,b@x.org,1111111,", "C,c@x.org,1111111,", "D,,1111111,", "E,,1111111,"], 0),
    "the latest name": (["Old,a@x.org,,2026-01-01\nNew,a@x.org,,2026-02-01\n,a@x.org,,2026-03-01\nLost,a@x.org,,\n"],
                        ["New,a@x.org,,2026-03-01"], 0),
    "of equal dates the last": (["Zed,a@x.org,,2026-01-01\nAbe,a@x.org,,01.01.2026\n"], ["Abe,a@x.org,,2026-01-01"], 0),
    "unknown dates, no name": (["B,a@x.org,,?\nA,a@x.org,,\n,,7777777,\n"], [",,7777777,", "A,a@x.org,,"], 0),
    "fields": ([f"A\nB,{A}\nC,a@x.org\nD,{A},more\n"], ["B,a@x.org,,2026-01-01"], 3),
    "quotes": (['"Doe, ""J"" \n Jane",j@x.org,,\n'], ['"Doe, ""J"" Jane",j@x.org,,'], 0),
    "order": (["b,b@x.org,,\nB,x@x.org,,\n\u00c4,y@x.org,,\nb,a@x.org,,\n"], ["B,x@x.org,,", "b,a@x.org,,", "b,b@x.org,,", "\u00c4,y@x.org,,"], 0),
    "no rows": ([""], [], 0),
}  # fmt: skip


def merged(files):
    with tempfile.TemporaryDirectory() as place:
        paths = []
        for number, text in enumerate(files):
            paths.append(Path(place) / f"list {number}.csv")
            paths[-1].write_bytes((HEAD + text).encode())
        return python("/app/merge.py", *map(str, paths))


def case(files, rows, rejected):
    done = merged(files)
    told = done.returncode == 0 and done.stderr.strip() == f"rejected {rejected}"
    return told and done.stdout == "".join(row + "\n" for row in ["name,emails,phones,updated", *rows])


def long_chains():
    """Chains of rows, shuffled: each is one person, joined by emails and phones in turn."""
    choice, rows, wanted = random.Random(20260404), [], set()
    for person in range(20):
        emails = [f"p{person}.{number}@x.org" for number in range(8)]
        phones = [f"9{person:03d}{number:05d}" for number in range(8)]
        rows += [(f"N{person}", email, phone) for email, phone in zip(emails, phones, strict=True)]
        rows += [(f"N{person}", email, phone) for email, phone in zip(emails[1:], phones, strict=False)]
        wanted.add((f"N{person}", ";".join(sorted(emails)), ";".join(sorted(phones)), ""))
    choice.shuffle(rows)
    text = "".join(f"{','.join(row)},\n" for row in rows)
    return {tuple(row) for row in csv.reader(io.StringIO(merged([text]).stdout))} - {
        ("name", "emails", "phones", "updated")
    } == wanted


checks = {title: lambda one=one: case(*one) for title, one in CASES.items()}
score({**checks, "long chains": long_chains})
