"""Talks to /app/store.py: in one stream, in pieces, and waiting for each reply. A plain model with copies says what is right."""

import random
import resource
import subprocess
import sys
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import CLEAN, score

PROGRAM = "/app/store.py"
MEMORY = 256 * 1024 * 1024
PROCESSOR_SEC = 10
"""Processor time and not the clock's: a busy machine makes nobody wrong."""


def start():
    if not Path(PROGRAM).is_file():
        raise FileNotFoundError(PROGRAM)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SEC, PROCESSOR_SEC))

    return subprocess.Popen(["python3", "-B", PROGRAM], **pipes, cwd="/app", env=CLEAN, preexec_fn=limit)


def net(data):
    return str(len(data)).encode() + b":" + data + b","


def request(*words):
    return net(b"".join(net(word if isinstance(word, bytes) else word.encode()) for word in words))


def told(stream, seconds=60):
    """The exit code and the bytes of all replies."""
    program = start()
    try:
        replies, _ = program.communicate(stream, timeout=seconds)
    finally:
        program.kill()
    return program.returncode, replies


def talk(*pairs):
    """Whether requests, written as words with spaces between them, get these replies."""
    stream = b"".join(request(*asked.split(" ")) if isinstance(asked, str) else asked for asked, _ in pairs)
    wanted = b"".join(net(reply if isinstance(reply, bytes) else reply.encode()) for _, reply in pairs)
    return told(stream) == (0, wanted)


BIG = "9" * 1000
TALKS = {
    "set and get": [("GET a", "-"), ("SET a 1", "+"), ("GET a", "=1"), ("SET a 2", "+"), ("GET a", "=2"), ("GET A", "-")],
    "any bytes": [(request("SET", b"\x00,\n:", b"\xff1:a,"), "+"), (request("GET", b"\x00,\n:"), b"=\xff1:a,"), (request("SET", b"", b""), "+"), (request("GET", b""), "=")],
    "delete": [("SET a 1", "+"), ("SET b 1", "+"), ("DEL a b a c", "+2"), ("GET a", "-"), ("DEL a", "+0")],
    "add": [("INCR n 5", "=5"), ("INCR n -12", "=-7"), ("INCR n 7", "=0"), ("GET n", "=0"), (f"INCR m {BIG}", f"={BIG}"), ("INCR m -1", f"={BIG[:-1]}8")],
    "numbers": [("SET s x", "+"), ("INCR s 1", "!number"), *((f"INCR n {bad}", "!number") for bad in ("", "+1", "-0", "01", "1.0", "1_0", "\u0661", BIG + "9", "1\n")),
                ("GET n", "-"), ("SET z 007", "+"), ("INCR z 1", "!number"), ("SET e ", "+"), ("INCR e 1", "!number"), (f"INCR m {BIG}", f"={BIG}"), ("INCR m 1", "!number"), ("GET m", f"={BIG}")],
    "count": [("COUNT 1", "+0"), ("SET a 1", "+"), ("SET b 1", "+"), ("SET a 1", "+"), ("COUNT 1", "+2"), ("SET a 2", "+"), ("COUNT 1", "+1"), ("DEL b", "+1"), ("COUNT 1", "+0"), ("INCR a -1", "=1"), ("COUNT 1", "+1"), ("COUNT 2", "+0")],
    "keys": [*((f"SET {key} 1", "+") for key in ("b", "a1", "a", "a\u00e4", "aZ", "c")), ("KEYS a 9", b"+1:a,2:a1,2:aZ,3:a\xc3\xa4,"), ("KEYS a 2", "+1:a,2:a1,"), ("KEYS  3", "+1:a,2:a1,2:aZ,"), ("KEYS x 5", "+"), ("KEYS a 0", "+"), ("KEYS a -1", "!number"), ("KEYS a 01", "!number")],
    "roll back": [("SET a 1", "+"), ("BEGIN", "+1"), ("SET a 2", "+"), ("SET b 2", "+"), ("DEL a", "+1"), ("INCR c 5", "=5"), ("COUNT 2", "+1"), ("ROLLBACK", "+0"), ("GET a", "=1"), ("GET b", "-"), ("GET c", "-"), ("COUNT 1", "+1"), ("COUNT 2", "+0"), ("KEYS  9", "+1:a,")],
    "nested": [("BEGIN", "+1"), ("SET a 1", "+"), ("BEGIN", "+2"), ("SET a 2", "+"), ("COMMIT", "+1"), ("GET a", "=2"), ("BEGIN", "+2"), ("SET a 3", "+"), ("ROLLBACK", "+1"), ("GET a", "=2"), ("ROLLBACK", "+0"), ("GET a", "-")],
    "commit": [("BEGIN", "+1"), ("SET a 1", "+"), ("COMMIT", "+0"), ("GET a", "=1"), ("COMMIT", "!transaction"), ("ROLLBACK", "!transaction"), ("GET a", "=1")],
    "commands": [("get a", "!command"), ("GET", "!command"), ("GET a b", "!command"), ("SET a", "!command"), ("DEL", "!command"), ("BEGIN x", "!command"), ("COMMIT x", "!command"), ("", "!command"), ("INCR a", "!command"), ("KEYS a x y", "!command")],
    "words": [(net(inside), "!words") for inside in (b"", b"GET", b"3:GET", b"3:GET,1:a", b"3:GET,1:a,x", b"03:GET,1:a,", b"3:GET,9:a,", b":,", b"-1:,", b"3:GETx1:a,", b" 3:GET,")] + [("GET a", "-")],
}  # fmt: skip
BAD = [
    b"x",
    b"5",
    b"5:",
    b"5:hell",
    b"5:hello",
    b"5:hello;",
    b"01:a,",
    b"00:,",
    b":,",
    b"-1:,",
    b" 1:a,",
    b"1 :a,",
    b"1048577:",
    b"99999999999:",
    b",",
    b"\n",
]


def frames():
    good = True
    for bad in BAD:
        wanted = net(b"+") + net(b"!frame")
        if told(request("SET", "a", "1") + bad) != (2, wanted):
            print("frame:", bad)
            good = False
    return good


def nothing():
    return told(b"") == (0, b"")


def large():
    value = bytes(range(256)) * 4000
    return told(request("SET", "a", value) + request("GET", "a")) == (0, net(b"+") + net(b"=" + value))


def replies_at_once():
    """One request after the other, each byte by byte, and its reply read before the next; a timer ends what hangs."""
    program = start()
    timer = threading.Timer(20, program.kill)
    timer.start()
    try:
        for asked, wanted in [(("SET", "a", "1"), b"1:+,"), (("GET", "a"), b"2:=1,"), (("BEGIN",), b"2:+1,")]:
            for byte in request(*asked):
                program.stdin.write(bytes([byte]))
                program.stdin.flush()
            if program.stdout.read(len(wanted)) != wanted:
                return False
        program.stdin.close()
        return program.wait(5) == 0
    finally:
        timer.cancel()
        program.kill()


def at_random():
    choice = random.Random(20260406)
    stack, stream, wanted = [{}], [], []
    for _ in range(4000):
        store, key, value = stack[-1], f"k{choice.randint(0, 30)}", str(choice.randint(0, 5))
        kind = choice.choice(["SET", "SET", "GET", "DEL", "COUNT", "BEGIN", "COMMIT", "ROLLBACK", "INCR"])
        words, reply = [kind], ""
        if kind == "SET":
            words, reply, store[key] = ["SET", key, value], "+", value
        elif kind == "GET":
            words, reply = ["GET", key], f"={store[key]}" if key in store else "-"
        elif kind == "DEL":
            words, reply = ["DEL", key, key], f"+{int(store.pop(key, None) is not None)}"
        elif kind == "COUNT":
            words, reply = ["COUNT", value], f"+{list(store.values()).count(value)}"
        elif kind == "INCR":
            store[key] = str(int(store.get(key, 0)) + int(value))
            words, reply = ["INCR", key, value], f"={store[key]}"
        elif kind == "BEGIN":
            stack.append(dict(store))
            reply = f"+{len(stack) - 1}"
        elif len(stack) == 1:
            reply = "!transaction"
        else:
            top = stack.pop()
            if kind == "COMMIT":
                stack[-1] = top
            reply = f"+{len(stack) - 1}"
        stream.append(request(*words))
        wanted.append(net(reply.encode()))
    return told(b"".join(stream)) == (0, b"".join(wanted))


def fast():
    stream = [request("SET", f"key {number}", str(number % 7)) for number in range(20_000)]
    wanted = [b"+"] * 20_000
    for depth in range(1, 2_001):
        stream += [request("BEGIN"), request("SET", f"key {depth}", "new"), request("COUNT", "new")]
        wanted += [b"+%d" % depth, b"+", b"+%d" % depth]
    threes = sum(number % 7 == 3 for number in range(20_000) if not 1 <= number <= 2_000)
    for _ in range(10_000):
        stream += [request("BEGIN"), request("COUNT", "3"), request("ROLLBACK")]
        wanted += [b"+2001", b"+%d" % threes, b"+2000"]
    for depth in range(1_999, -1, -1):
        stream += [request("COMMIT" if depth % 2 else "ROLLBACK"), request("COUNT", "new")]
        wanted += [b"+%d" % depth, None]
    code, replies = told(b"".join(stream))
    got = replies.split(b",")[:-1]
    right = [one is None or got[place] == net(one)[:-1] for place, one in enumerate(wanted)]
    return code == 0 and len(got) == len(wanted) and all(right) and got[-1] == b"2:+0"


checks = {title: lambda pairs=pairs: talk(*pairs) for title, pairs in TALKS.items()}
score({**checks, "frames": frames, "no request": nothing, "a large value": large, "replies at once": replies_at_once,
       "random requests": at_random, "speed": fast})  # fmt: skip
