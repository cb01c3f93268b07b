"""Installs MCP servers, lists their tools and checks the labels against them.

Standard library only. scripts/mcp-tools calls it and says what it is for.
"""

import argparse
import csv
import hashlib
import json
import os
import pathlib
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

# Dependencies are resolved as they were on this day, so that a definition that
# a dependency writes (a schema, say) stays as it was labelled.
BEFORE = "2026-11-20"
# Python 3.13 strips the indentation of docstrings, which become descriptions:
# another version may give other definitions.
PYTHON = os.environ.get("MCP_TOOLS_PYTHON", "python3.13")
LIST_SECONDS = 60
INSTALL_SECONDS = 420
# Servers put their folder into descriptions: it has to be the same everywhere.
# The salt of the split into train, dev and test.
SALT = "margay-tools-1:"
SCRATCH = pathlib.Path("/tmp/margay-mcp-tools")
# What of a definition a label is for. The order is that of tools/list.
FIELDS = ("name", "title", "description", "annotations", "inputSchema", "outputSchema")


class Failed(Exception):
    """A server that could not be installed or listed, with the reason."""


def read_servers(path):
    with open(path, encoding="utf-8") as f:
        rows = csv.DictReader((l for l in f if not l.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE)
        return {r["server"]: r for r in rows}


def definition(tool):
    """Returns the canonical bytes of a tool's definition: JSON with sorted keys,
    no spaces, UTF-8, absent and null fields left out."""
    kept = {k: tool[k] for k in FIELDS if tool.get(k) is not None}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def digest(tool):
    return "sha256:" + hashlib.sha256(definition(tool)).hexdigest()


def run(args, seconds, **kw):
    p = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=seconds, text=True, errors="replace", **kw)
    if p.returncode:
        lines = [l for l in p.stdout.strip().splitlines() if l.strip()] or ["no output"]
        raise Failed("install: " + " ".join(lines[-3:])[:300])


def install(cache, s):
    """Installs a server, unless this version of it is there, and returns its folder."""
    home = cache / "servers" / s["server"]
    pin = f"{s['registry']} {s['package']} {s['version']} {s['also']} {BEFORE}"
    stamp = home / ".installed"
    if stamp.exists() and stamp.read_text() == pin:
        return home
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    also = s["also"].split() if s["also"] != "-" else []
    try:
        if s["registry"] == "npm":
            (home / "package.json").write_text('{"private":true}\n')
            run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", f"--before={BEFORE}",
                 f"{s['package']}@{s['version']}", *also], INSTALL_SECONDS, cwd=home)
        elif s["registry"] == "pypi":
            pip = cache / "pip"
            if not (pip / ".installed").exists():
                run([PYTHON, "-m", "venv", str(pip)], INSTALL_SECONDS)
                run([str(pip / "bin/python"), "-m", "pip", "install", "-q", "pip==26.3"], INSTALL_SECONDS)
                (pip / ".installed").write_text("")
            run([PYTHON, "-m", "venv", "--without-pip", str(home / "venv")], INSTALL_SECONDS)
            run([str(pip / "bin/python"), "-m", "pip", "--python", str(home / "venv/bin/python"), "install", "-q",
                 "--no-input", "--only-binary", ":all:", "--uploaded-prior-to", BEFORE,
                 f"{s['package']}=={s['version']}", *also], INSTALL_SECONDS)
        else:
            raise Failed(f"unknown registry {s['registry']!r}; known are npm and pypi")
    except subprocess.TimeoutExpired:
        raise Failed(f"install: not done after {INSTALL_SECONDS} seconds") from None
    stamp.write_text(pin)
    return home


def command(home, s, scratch):
    """Returns the command line of an installed server. "-" stands for the
    program that the package declares."""
    name = s["command"]
    args = [a.replace("{dir}", str(scratch)) for a in shlex.split(s["args"])] if s["args"] != "-" else []
    if s["registry"] == "npm":
        package = home / "node_modules" / s["package"]
        if name == "-":
            bins = json.loads((package / "package.json").read_text()).get("bin") or {}
            if isinstance(bins, str):
                bins = {s["package"].split("/")[-1]: bins}
            base = s["package"].split("/")[-1]
            if not bins:
                raise Failed("start: the package declares no program")
            name = bins.get(base) or next(iter(bins.values()))
        elif not name.startswith("./"):
            bins = json.loads((package / "package.json").read_text())["bin"]
            name = bins[name] if isinstance(bins, dict) else bins
        program = package / name
        with open(program, "rb") as f:
            native = f.read(4) == b"\x7fELF"
        return ([] if native else ["node"]) + [str(program), *args]
    bin = home / "venv" / "bin"
    if name.startswith("-m "):
        return [str(bin / "python"), *name.split(), *args]
    if name == "-":
        wanted = s["package"].lower().replace("_", "-").replace(".", "-")
        for p in sorted(bin.iterdir()):
            if p.name.lower().replace("_", "-").replace(".", "-") == wanted:
                name = p.name
        if name == "-":
            raise Failed("start: no program has the package's name")
    return [str(bin / "python"), str(bin / name), *args]


def isolated(args, scratch):
    """Wraps a command: no network but the loopback, own processes, and only the
    scratch folder can be written."""
    script = (
        'ip link set lo up 2>/dev/null; mount --make-rprivate / && mount --bind "$0" "$0" && '
        'mount -o remount,bind,ro / && cd "$0" && exec "$@"'
    )
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
            "sh", "-c", script, str(scratch), *args]


def converse(process, deadline):
    """Asks a running server for its tools, with every page."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()

    def send(message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()

    def ask(id, method, params):
        send({"id": id, "method": method, "params": params})
        while True:
            try:
                line = lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise Failed(f"{method}: no answer after {LIST_SECONDS} seconds") from None
            if line is None:
                raise Failed(f"{method}: the server ended")
            try:
                m = json.loads(line)
            except ValueError:
                continue  # a log line on the standard output
            if not isinstance(m, dict):
                continue
            if "method" in m and "id" in m:  # a request of the server
                known = m["method"] in ("ping", "roots/list")
                send({"id": m["id"], **({"result": {"roots": []} if m["method"] == "roots/list" else {}} if known else
                                        {"error": {"code": -32601, "message": "not here"}})})
            elif m.get("id") == id and "method" not in m:
                if "error" in m:
                    raise Failed(f"{method}: {m['error'].get('message', 'error')}"[:300])
                return m.get("result") or {}

    hello = ask(1, "initialize", {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "margay-mcp-tools", "version": "1"}})
    send({"method": "notifications/initialized"})
    tools, cursor, id = [], None, 2
    while True:
        page = ask(id, "tools/list", {"cursor": cursor} if cursor else {})
        tools += page.get("tools") or []
        cursor = page.get("nextCursor")
        id += 1
        if not cursor or id > 200:
            return hello, tools


def list_tools(cache, s):
    home = install(cache, s)
    scratch = SCRATCH / s["server"]
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(scratch), "TMPDIR": str(scratch), "LANG": "C.UTF-8", "TZ": "UTC",
           "NO_COLOR": "1", "DO_NOT_TRACK": "1", "CI": "1", "FASTMCP_CHECK_FOR_UPDATES": "off", "XDG_CONFIG_HOME": str(scratch),
           "XDG_DATA_HOME": str(scratch), "XDG_CACHE_HOME": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"}
    for pair in shlex.split(s["env"]) if s["env"] != "-" else []:
        key, _, value = pair.partition("=")
        env[key] = value.replace("{dir}", str(scratch))
    errors = open(scratch / "stderr", "wb")
    process = subprocess.Popen(isolated(command(home, s, scratch), scratch), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=errors, env=env, cwd=scratch, start_new_session=True)
    try:
        hello, tools = converse(process, time.monotonic() + LIST_SECONDS)
    except (Failed, BrokenPipeError, ValueError) as e:
        tail = [l.strip() for l in (scratch / "stderr").read_text(errors="replace").splitlines() if l.strip()]
        reason = str(e) if isinstance(e, Failed) else "the server ended"
        raise Failed(f"{reason}: {' | '.join(tail[-4:])[-400:]}" if tail else reason) from None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        errors.close()
    if not tools:
        raise Failed("tools/list: no tools")
    return [{"server": s["server"], "package": f"{s['registry']}:{s['package']}", "version": s["version"],
             **{k: t[k] for k in FIELDS if t.get(k) is not None}, "definition": digest(t)} for t in tools]


def fetch(args, servers):
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    failed = read_failed(out)
    for name in args.names or servers:
        if name not in servers:
            sys.exit(f"mcp-tools: unknown server {name!r}; see {args.servers}")
        file = out / f"{name}.jsonl"
        if file.exists():
            continue
        try:
            tools = list_tools(pathlib.Path(args.cache).resolve(), servers[name])
        except Failed as e:
            failed[name] = " ".join(str(e).split())
            print(f"FAIL  {name}: {failed[name]}", flush=True)
        except Exception as e:  # one server's trouble is not the others'
            failed[name] = f"{type(e).__name__}: {e}"
            print(f"FAIL  {name}: {failed[name]}", flush=True)
        else:
            failed.pop(name, None)
            part = file.with_suffix(".part")
            part.write_text("".join(json.dumps(t, ensure_ascii=False) + "\n" for t in tools), encoding="utf-8")
            part.rename(file)
            print(f"ok    {name}: {len(tools)} tools", flush=True)
        (out / "failed.tsv").write_text("".join(f"{k}\t{v}\n" for k, v in failed.items()))


def read_failed(out):
    try:
        return dict(l.split("\t", 1) for l in (out / "failed.tsv").read_text().splitlines())
    except FileNotFoundError:
        return {}


def read_tools(out):
    for file in sorted(out.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def status(args, servers):
    out = pathlib.Path(args.out)
    counts = {}
    for t in read_tools(out):
        counts[t["server"]] = counts.get(t["server"], 0) + 1
    failed = read_failed(out)
    for name in servers:
        print(f"{name}\t{counts[name]} tools" if name in counts else f"{name}\tfailed: {failed.get(name, 'not fetched')}")
    print(f"{len(counts)} of {len(servers)} servers, {sum(counts.values())} tools")


def check(args, servers):
    """Says which labels have no definition here, or another one."""
    have = {(t["server"], t["name"]): t["definition"] for t in read_tools(pathlib.Path(args.out))}
    same = changed = missing = 0
    labelled = set()
    with open(args.labels, encoding="utf-8") as f:
        for line in f:
            l = json.loads(line)
            key = (l["server"], l["tool"])
            labelled.add(key)
            if key not in have:
                missing += 1
                print(f"missing  {key[0]} {key[1]}")
            elif have[key] != l["definition"]:
                changed += 1
                print(f"changed  {key[0]} {key[1]}")
            else:
                same += 1
    print(f"{same} as labelled, {changed} changed, {missing} missing, {len(set(have) - labelled)} not labelled")
    if not check_split(args) or changed or missing:
        sys.exit(1)


def share(server):
    """Returns a server's part: its name alone decides, so that a new server
    moves no other."""
    n = int.from_bytes(hashlib.sha256((SALT + server).encode()).digest()[:8], "big") % 100
    return "train" if n < 60 else "dev" if n < 75 else "test"


def frozen(labels, parts):
    """Returns the digest of the label lines of the test servers, in their order."""
    h = hashlib.sha256()
    with open(labels, "rb") as f:
        for line in f:
            if parts.get(json.loads(line)["server"]) == "test":
                h.update(line)
    return "sha256:" + h.hexdigest()


def split(args):
    """Writes the split of the labelled servers."""
    with open(args.labels, encoding="utf-8") as f:
        parts = {s: share(s) for s in sorted({json.loads(l)["server"] for l in f})}
    with open(args.split, "w", encoding="utf-8") as f:
        f.write("# Which labelled servers train, tune (dev) and test a classifier. scripts/mcp-tools split writes it.\n"
                "# The first 8 bytes of SHA-256(salt + server), big-endian, modulo 100: under 60 train, under 75 dev, else test.\n"
                "# Nobody trains on the test servers, or looks at their definitions to choose features.\n"
                f"salt {SALT}\n"
                f"frozen {frozen(args.labels, parts)}\n")
        f.writelines(f"{p} {s}\n" for s, p in parts.items())


def check_split(args):
    want, parts = None, {}
    with open(args.split, encoding="utf-8") as f:
        for line in f:
            key, _, value = line.rstrip("\n").partition(" ")
            if key == "frozen":
                want = value
            elif key in ("train", "dev", "test"):
                parts[value] = key
    with open(args.labels, encoding="utf-8") as f:
        labelled = {json.loads(l)["server"] for l in f}
    wrong = sorted(labelled ^ set(parts) | {s for s, p in parts.items() if share(s) != p})
    if wrong or frozen(args.labels, parts) != want:
        print(f"split    {', '.join(wrong) or 'the labels of test servers are not as they were frozen'}")
        return False
    return True


def main():
    p = argparse.ArgumentParser()
    for flag in ("--cache", "--servers", "--labels", "--split"):
        p.add_argument(flag, required=True)
    sub = p.add_subparsers(dest="command", required=True)
    f = sub.add_parser("fetch")
    f.add_argument("out")
    f.add_argument("names", nargs="*")
    for name in ("status", "check"):
        sub.add_parser(name).add_argument("out")
    sub.add_parser("where").add_argument("name")
    sub.add_parser("split")
    args = p.parse_args()
    servers = read_servers(args.servers)
    if args.command == "where":
        print(pathlib.Path(args.cache).resolve() / "servers" / args.name)
    elif args.command == "split":
        split(args)
    else:
        {"fetch": fetch, "status": status, "check": check}[args.command](args, servers)


main()
