#!/usr/bin/env python3
"""Writes recorded cases of who may learn what, for margay-lab privacy.

Sentences of the data sets are in no file of this repository: the labels name
them by the first eight hex digits of the SHA-256 of their text.
"""

import gzip
import hashlib
import json
import re
import sys

# Verticals of AgentLeak, as actions of the library.
VERTICALS = {
    "healthcare": "medical-records",
    "finance": "financial-onboarding",
    "legal": "customer-support",
    "corporate": "hr-payroll",
}
# Channels of AgentLeak: between agents, and to a memory that agents share.
CHANNELS = {"C2": "another agent", "C5": "shared memory"}
LEAST_VALUE = 4  # characters: shorter ones are found in any text


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        for line in f:
            yield json.loads(line)


def short(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for v in value:
            yield from strings(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from strings(v)


def sentences(text):
    """Splits at the end of sentences and lines, not behind titles and initials."""
    parts = []
    for line in text.split("\n"):
        line = line.strip().lstrip("-*•").strip()
        parts += [s.strip() for s in re.split(r"(?<=[.!?])[\"')]*\s+(?=[A-Z\"'(\[])", line)]
    joined = []
    for s in parts:
        if joined and re.search(r"\b(Mr|Mrs|Ms|Dr|Prof|St|Inc|vs|e\.g|i\.e|[A-Z])\.$", joined[-1]):
            joined[-1] += " " + s
        else:
            joined.append(s)
    return [s for s in joined if s]


def observed(trajectory):
    """The sentences of all tool results of a recorded run."""
    for part in re.split(r"^Observation:", trajectory, flags=re.M)[1:]:
        part = re.split(r"^Action:", part, flags=re.M)[0].strip()
        try:
            found = list(strings(json.loads(part)))
        except ValueError:
            found = re.findall(r'"((?:[^"\\]|\\.)*)"', part)
        for text in found:
            yield from sentences(text)


def labels(path):
    out = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            name, cls, action, to, needed = line.rstrip("\n").split("\t")
            out[name] = cls, action, to, needed.split()
    return out


def ended(text):
    return text if text[-1:] in ".!?" else text + "."


def alternating(a, b):
    for i in range(max(len(a), len(b))):
        yield from a[i : i + 1]
        yield from b[i : i + 1]


def privacylens(data, labelled):
    known = labels(labelled)
    for case in lines(data + "/privacylens-dev.jsonl.gz"):
        cls, action, to, hashes = known.pop(case["name"])
        run = case["trajectory"]
        by_hash = {short(s): s for s in observed(run["executable_trajectory"])}
        needed = [by_hash[h] for h in hashes]
        items = run["sensitive_info_items"]
        recipient = case["vignette"]["data_recipient_concrete"]
        if to == "address":
            recipient = ", ".join(re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", run["user_instruction"]))
        yield {
            "id": case["name"],
            "action": action,
            "recipient": recipient,
            "class": cls,
            "text": " ".join(ended(s) for s in alternating(items, needed)),
            "sensitive": [{"value": s} for s in items],
            "needed": needed,
        }
    if known:
        raise SystemExit("privacylens: labels of unknown cases: " + " ".join(known))


def text_of(value):
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def agentleak(data, _):
    """Messages that agents sent, whose forbidden and allowed values are known."""
    for trace in lines(data + "/agentleak-traces-dev.jsonl.gz"):
        given = trace["input"]
        allowed = given["allowed_set"].get("fields") or []
        forbidden = given["allowed_set"].get("forbidden_fields") or []
        for n, message in enumerate(trace["channel_messages"]):
            text = message["content"]
            if message["channel"] not in CHANNELS or not text:
                continue
            sensitive, needed = [], []
            for key, value in sorted(given["vault"].items()):
                value, field = text_of(value), key.removesuffix("_real")
                if len(value) < LEAST_VALUE or value.startswith("[") or value not in text:
                    continue
                if value.startswith("CANARY_") or field in forbidden:
                    sensitive.append({"field": field.replace("_", "-"), "value": value})
                elif field in allowed:
                    needed.append(value)
            needed = [v for v in needed if not any(v in s["value"] or s["value"] in v for s in sensitive)]
            if not sensitive and not needed:
                continue
            yield {
                "id": "%s-%d" % (trace["trace_id"], n),
                "action": VERTICALS[trace["vertical"]],
                "recipient": CHANNELS[message["channel"]],
                "class": "semi-trusted",
                "text": text,
                "sensitive": sensitive,
                "needed": needed,
            }


def main():
    name, data, labelled = sys.argv[1:4]
    write = {"privacylens": privacylens, "agentleak": agentleak}[name]
    for case in write(data, labelled):
        print(json.dumps(case, ensure_ascii=False))


if __name__ == "__main__":
    main()
