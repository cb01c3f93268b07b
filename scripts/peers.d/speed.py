"""Hyperscan (as Vectorscan, on PyPI) over the texts of margay-lab engine.

    python speed.py FOLDER

FOLDER has rules.json, a list of {"id", "regex", "simpler"}, and plan.json, a
list of {"text": FILE, "write": BYTES}; 0 is the whole text, in block mode. The
first line written says what was compiled. Then each line read is answered with
one measurement of everything, in nanoseconds of processor time by the plan's
order. Nothing is called for a match: Python would take more than the scan does.
The process ends with its input.
"""

import json
import os
import sys
import time

import hyperscan as hs

LEAST = 5_000_000  # nanoseconds of one measurement


def alone(regex):
    try:
        hs.Database(mode=hs.HS_MODE_BLOCK).compile(expressions=[regex.encode()], ids=[0], flags=[0])
    except hs.error as e:
        return str(e)
    return ""


def choose(rules):
    """Those that compile as they are, else as the Go side simplified them."""
    taken, simplified, failed = [], [], {}
    for r in rules:
        why = alone(r["regex"])
        if not why:
            taken.append(r["regex"])
        elif not alone(r["simpler"]):
            taken.append(r["simpler"])
            simplified.append(r["id"])
        else:
            failed[r["id"]] = why
    return taken, simplified, failed


def database(expressions, mode):
    db = hs.Database(mode=mode)
    n = len(expressions)
    db.compile(expressions=[e.encode() for e in expressions], ids=list(range(n)), flags=[0] * n)
    return db


def ignore(*_):
    pass


def block(db, text):
    return lambda: db.scan(text)


def streamed(db, pieces):
    def run():
        # As a context it would call for matches at the text's end what is not there.
        s = db.stream(None)
        s.__enter__()
        scan = s.scan
        for p in pieces:
            scan(p)
        s.close(match_event_handler=ignore)

    return run


def took(run):
    start, n = time.process_time_ns(), 0
    while True:
        run()
        n += 1
        spent = time.process_time_ns() - start
        if spent >= LEAST:
            return spent / n


def main():
    folder = sys.argv[1]

    def load(name):
        with open(os.path.join(folder, name), "rb") as f:
            return f.read()

    expressions, simplified, failed = choose(json.loads(load("rules.json")))
    blocks = database(expressions, hs.HS_MODE_BLOCK)
    streams = database(expressions, hs.HS_MODE_STREAM)
    nothing = database(["\\x01\\x02margay\\x03"], hs.HS_MODE_STREAM)
    runs, empty, matches = [], [], []
    for job in json.loads(load("plan.json")):
        text, n = load(job["text"]), job["write"]
        if n == 0:
            found = [0]

            def on(*_):
                found[0] += 1

            blocks.scan(text, match_event_handler=on)
            matches.append(found[0])
            runs.append(block(blocks, text))
            empty.append(lambda: None)
        else:
            pieces = [text[i : i + n] for i in range(0, len(text), n)]
            matches.append(0)
            runs.append(streamed(streams, pieces))
            empty.append(streamed(nothing, pieces))

    def say(answer):
        print(json.dumps(answer), flush=True)

    say(
        {
            "version": hs.__version__ + ", " + blocks.info().decode().strip(),
            "compiled": len(expressions),
            "simplified": simplified,
            "failed": failed,
            "matches": matches,
        }
    )
    for _ in sys.stdin:
        say({"ns": [took(r) for r in runs], "empty": [took(r) for r in empty]})


main()
