"""Checks a proxy configuration: `python3 check_config.py FILE` prints `ok`, or the first mistake."""

import re
import sys

TOKEN = re.compile(r'\s+|#[^\n]*|[{};]|"[^"\n]*"|[^\s{};#"]+')
KNOWN = {
    "upstream": {"server"},
    "server": {"listen", "server_name", "proxy_pass", "proxy_read_timeout"},
}


class Mistake(Exception):
    """Something in the file is wrong."""


def tokens(text):
    place = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise Mistake(f"line {text.count(chr(10), 0, place) + 1}: a quote is not closed")
        place = match.end()
        word = match.group()
        if not word.isspace() and not word.startswith("#"):
            yield word.strip('"'), text.count("\n", 0, match.start()) + 1


def parse(text):
    """Blocks as (kind, name, [(directive, value), ...])."""
    blocks, block, words = [], None, []
    for word, line in tokens(text):
        if word == "{":
            if block is not None or not words or words[0] not in KNOWN or len(words) > 2:
                raise Mistake(f"line {line}: no block can begin here")
            block, words = (words[0], " ".join(words[1:]), []), []
        elif word == "}":
            if block is None or words:
                raise Mistake(f"line {line}: a directive needs its ';'" if words else f"line {line}: '}}' too many")
            blocks.append(block)
            block = None
        elif word == ";":
            if block is None or len(words) != 2 or words[0] not in KNOWN[block[0]]:
                raise Mistake(f"line {line}: {' '.join(words)!r} is no directive of this block")
            block[2].append((words[0], words[1]))
            words = []
        else:
            words.append(word)
    if block is not None or words:
        raise Mistake("the last block is not closed")
    return blocks


def check(blocks):
    """Raise Mistake for what parses and makes no sense."""
    upstreams = [name for kind, name, _ in blocks if kind == "upstream"]
    if len(set(upstreams)) < len(upstreams):
        raise Mistake("two upstreams have one name")
    seen = set()
    for kind, _, directives in blocks:
        values = dict(directives)
        if kind == "server":
            if len(values) < len(directives) or set(values) != KNOWN["server"]:
                raise Mistake("a server needs each of its directives once")
            if not re.fullmatch(r"[0-9]+", values["listen"]):
                raise Mistake(f"listen {values['listen']}: not a port")
            if not re.fullmatch(r"[0-9]+s", values["proxy_read_timeout"]):
                raise Mistake(f"proxy_read_timeout {values['proxy_read_timeout']}: not a time such as 10s")
            if values["proxy_pass"] not in upstreams:
                raise Mistake(f"proxy_pass {values['proxy_pass']}: no such upstream")
            if (values["listen"], values["server_name"]) in seen:
                raise Mistake(f"{values['server_name']} is there twice on port {values['listen']}")
            seen.add((values["listen"], values["server_name"]))


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            check(parse(file.read()))
    except Mistake as mistake:
        sys.exit(f"{sys.argv[1]}: {mistake}")
    print("ok")
