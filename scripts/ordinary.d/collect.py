#!/usr/bin/env python3
"""Draws source files and package comments from a machine, by a seed."""

import hashlib
import pathlib
import re
import sys
import sysconfig

LEAST, MOST = 1 << 10, 24 << 10  # bytes of a source file
COMMENT = 200  # characters, at least, of a package comment


def drawn(files, root, seed):
    """All files in an order that depends on the seed and their names alone."""
    return sorted(files, key=lambda f: hashlib.sha256(f"{seed}\0{f.relative_to(root)}".encode()).digest())


def text(path):
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return None


def sources(root, pattern, n, out, seed):
    files = [f for f in root.rglob(pattern) if f.is_file() and not f.is_symlink() and LEAST <= f.stat().st_size <= MOST]
    for f in drawn(files, root, seed):
        if n == 0:
            return
        body = text(f)
        if body is not None:
            n -= 1
            (out / str(f.relative_to(root)).replace("/", "_")).write_text(body, encoding="utf-8")


def comments(root, n, out, seed):
    """The comments before package clauses, without what marks them."""
    files = [f for f in root.rglob("*.go") if f.is_file() and "testdata" not in f.parts]
    for f in drawn(files, root, seed):
        if n == 0:
            return
        found = re.search(r"\n((?://[^\n]*\n)+|/\*.*?\*/\n)package ", "\n" + (text(f) or ""), flags=re.S)
        if not found:
            continue
        body = re.sub(r"^// ?|^/\*\n?|\*/\s*$", "", found.group(1), flags=re.M).strip()
        if not body.startswith("Package ") or len(body) < COMMENT:
            continue
        n -= 1
        (out / (str(f.relative_to(root).parent).replace("/", "_") + ".txt")).write_text(body + "\n", encoding="utf-8")


def main():
    go, out, seed = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    for kind in "source", "prose":
        (out / kind).mkdir(exist_ok=True)
    sources(go, "*.go", 120, out / "source", seed)
    comments(go, 60, out / "prose", seed)
    sources(pathlib.Path(sysconfig.get_paths()["stdlib"]), "*.py", 40, out / "source", seed)


if __name__ == "__main__":
    main()
