"""An OpenAI-compatible HTTP server for SmolLM2, on loopback, that also tells
what the model's inside looks like.

Served are GET /v1/models and POST /v1/chat/completions, not streaming, with
temperature, top_p, seed, max_tokens (max_completion_tokens), logprobs and up
to 20 top_logprobs. Anything else that would change the answer is refused with
400 rather than ignored.

Log-probabilities are the model's own, over its whole vocabulary, before
temperature and top_p. Tokens are drawn from the 40 likeliest, cut at top_p,
then by temperature. Tokens that make one character together are told as one,
with the probability of all, and the alternatives and telemetry of the first.

Beyond the API, where logprobs are asked for:

  - each choice has margay_telemetry (docs/format/telemetry.md). Its entries
    also have "entropy", the exact one, in nats, and in "attention" the mass on
    what the model itself wrote, "own".
  - a request's margay_regions says what of its messages is public, private or
    system: [{"message": 0, "start": 10, "end": 90, "region": "private"}, ...],
    in characters. Of what it does not name the role decides: system and
    developer are system, tool is private, the rest is public.

POST /v1/saliency says what a text draws on: {"messages": [...], "regions":
[{"message": 0, "start": 10, "end": 90}, ...], "output": "..."}. Without an
output the model writes one itself, greedily, of at most 24 tokens. The answer
has six features for each region (saliency.py).

Up to --slots requests are evaluated at once, which takes little longer than
one alone. What stands beside a request changes the last bits of its numbers,
so the same request may be answered with other words where two tokens are as
likely.
"""

import argparse
import collections
import json
import os
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import model as network
import saliency
import tokenizer

MAX_BODY = 1 << 20
MAX_REGIONS = 4096
OWN_OUTPUT = 24  # tokens
SPANS = (256, 384, 512, 1024, 2304)  # shapes that are compiled
PROMPTS = (128, 192, 256, 384, 512, 768, 1024, 1536, 2240)
DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
ROLES = {"system": "system", "developer": "system", "tool": "private", "user": "public", "assistant": "public"}


class BadRequest(Exception):
    pass


class Request:
    """A request and, as it grows, its answer."""

    def __init__(self, body, chat):
        def number(name, low, high, default):
            value = body.get(name)
            value = default if value is None else value
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
                raise BadRequest(f"{name} must be a number from {low} to {high}")
            return value

        for name in ("tools", "functions", "response_format", "logit_bias", "audio", "stream", "stop"):
            if body.get(name):
                raise BadRequest(f"{name} is not supported by this model's server")
        if number("n", 1, 1, 1) != 1:
            raise BadRequest("n must be 1")
        self.temperature = number("temperature", 0, 2, 1)
        self.top_p = number("top_p", 0, 1, 1)
        self.limit = int(number("max_completion_tokens", 1, 1024, number("max_tokens", 1, 1024, 256)))
        self.random = random.Random(int(number("seed", 0, 2**64 - 1, 1)))
        self.logprobs = body.get("logprobs") is True
        self.top = int(number("top_logprobs", 0, 20, 0))
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise BadRequest("messages is missing")
        self.prompt, self.regions = chat.prompt(*self.parts(messages, body.get("margay_regions") or []))
        if len(self.prompt) > PROMPTS[-1] or len(self.prompt) + self.limit > SPANS[-1]:
            raise BadRequest("the conversation is longer than the model's context")
        self.done = threading.Event()
        self.finish = "length"
        self.drawn = 0
        self.pending = []
        self.pieces = []  # {text, logprob, alternatives, telemetry}

    @staticmethod
    def parts(messages, regions):
        out, where = [], []
        for i, m in enumerate(messages):
            role, text = m.get("role"), m.get("content")
            if role not in ROLES:
                raise BadRequest(f"the role {role!r} is not supported")
            if isinstance(text, list) and all(p.get("type") == "text" for p in text):
                text = "".join(p["text"] for p in text)
            if not isinstance(text, str):
                raise BadRequest("only text content is supported")
            named = [r for r in regions if r["message"] == i]
            if any(r["region"] not in network.REGIONS[:3] for r in named):
                raise BadRequest("regions are " + ", ".join(network.REGIONS[:3]))
            parts = [(r["start"], r["end"], network.REGIONS.index(r["region"])) for r in named]
            parts.append((0, len(text), network.REGIONS.index(ROLES[role])))
            out.append(({"developer": "system", "tool": "user"}.get(role, role), text))
            where.append(parts)
        if out[0][0] != "system":
            out.insert(0, ("system", DEFAULT_SYSTEM))
            where.insert(0, [(0, len(DEFAULT_SYSTEM), network.REGIONS.index("system"))])
        return out, where

    def draw(self, tokens, logprobs):
        """Picks one of the likeliest, the most probable first."""
        if self.temperature == 0:
            return 0
        shares = np.exp(logprobs - logprobs[0])
        before = np.concatenate([[0], np.cumsum(shares / shares.sum())[:-1]])
        kept = max(1, int((before < self.top_p).sum()))
        weights = np.exp((logprobs[:kept] - logprobs[0]) / self.temperature)
        at = self.random.random() * weights.sum()
        return min(int(np.searchsorted(np.cumsum(weights), at, side="right")), kept - 1)

    def take(self, seen, slot, chat):
        """Draws a token from a step. Returns it, or None at the end."""
        tokens, logprobs = seen["tokens"][slot], seen["logprobs"][slot]
        at = self.draw(tokens, logprobs)
        token = int(tokens[at])
        if token in chat.end:
            self.finish = "stop"
            return None
        if not self.pending:
            self.piece = {
                "logprob": 0.0,
                "top": [(chat.bytes[t], float(p)) for t, p in zip(tokens[: self.top], logprobs)],
                "telemetry": telemetry(seen, slot),
            }
        self.pending.append(chat.bytes[token])
        self.piece["logprob"] += float(logprobs[at])
        self.drawn += 1
        raw = b"".join(self.pending)
        if whole(raw) or self.drawn == self.limit:
            self.piece["bytes"] = raw
            self.pieces.append(self.piece)
            self.pending = []
        return token if self.drawn < self.limit else None

    def answer(self, name, number):
        choice = {
            "index": 0,
            "finish_reason": self.finish,
            "message": {"role": "assistant", "content": b"".join(p["bytes"] for p in self.pieces).decode(errors="replace")},
            "logprobs": None,
        }
        if self.logprobs:
            choice["logprobs"] = {
                "content": [
                    {**told(p["bytes"], p["logprob"]), "top_logprobs": [told(*a) for a in p["top"]]} for p in self.pieces
                ]
            }
            choice["margay_telemetry"] = {"version": 1, "tokens": [p["telemetry"] for p in self.pieces]}
        used = {"prompt_tokens": len(self.prompt), "completion_tokens": self.drawn, "total_tokens": len(self.prompt) + self.drawn}
        return {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": name, "choices": [choice], "usage": used}


def whole(raw):
    try:
        raw.decode()
        return True
    except UnicodeDecodeError as e:
        return e.reason != "unexpected end of data"


def told(raw, logprob):
    """A token as the API writes it."""
    return {"token": raw.decode(errors="replace"), "logprob": min(round(logprob, 4), 0.0), "bytes": list(raw)}


def telemetry(seen, slot):
    def number(x):
        return float(f"{float(x):.4g}")

    def mass(of):
        return {r: max(0.0, round(float(m), 4)) for r, m in zip(network.REGIONS, seen[of][slot])}

    return {
        "hidden_norm": number(seen["norm"][slot]),
        "hidden_variance": number(seen["variance"][slot]),
        "hidden_size": seen["size"],
        "attention": mass("last"),
        "entropy": max(0.0, round(float(seen["entropy"][slot]), 4)),
    }


def attribute(engine, body):
    """Answers POST /v1/saliency."""
    if set(body) - {"messages", "regions", "output", "model"}:
        raise BadRequest("messages, regions and output are what there is to give")
    messages, regions, output = body["messages"], body["regions"], body.get("output") or ""
    if not isinstance(messages, list) or not isinstance(regions, list) or not isinstance(output, str):
        raise BadRequest("messages and regions are lists, output is a string")
    if len(regions) > MAX_REGIONS:
        raise BadRequest(f"at most {MAX_REGIONS} regions")
    plain, _ = Request.parts(messages, [])
    shift = len(plain) - len(messages)
    where = [[] for _ in plain]
    for i, r in enumerate(regions):
        numbers = r["message"], r["start"], r["end"]
        if any(type(n) is not int for n in numbers) or not 0 <= r["message"] < len(messages):
            raise BadRequest("a region names a message, and a start and an end in its characters")
        if not 0 <= r["start"] <= r["end"] <= len(plain[r["message"] + shift][1]):
            raise BadRequest("a region is outside its message")
        where[r["message"] + shift].append((r["start"], r["end"], i))
    if not output:
        request = Request({"messages": messages, "temperature": 0, "max_tokens": OWN_OUTPUT}, engine.chat)
        engine.complete(request)
        output = b"".join(p["bytes"] for p in request.pieces).decode(errors="replace") or "."
    tokens, of = engine.chat.prompt(plain, where)
    return engine.attributor.attribute(tokens, of, engine.chat.bpe.encode(output).ids, len(regions))


class Engine:
    """Evaluates requests, several at once, on a thread of its own."""

    def __init__(self, path, slots):
        import jax.numpy as jnp

        self.config, self.parameters, tokens, merges = network.load(path)
        self.chat = tokenizer.ChatTokenizer(tokens, merges)
        self.attributor = saliency.Attributor(self.config, self.parameters)
        shape = (slots, self.config.kv_heads)
        self.keys = [jnp.zeros((*shape, self.config.size, SPANS[-1])) for _ in range(self.config.layers)]
        self.values = [jnp.zeros((*shape, SPANS[-1], self.config.size)) for _ in range(self.config.layers)]
        self.active = [None] * slots
        self.tokens = np.zeros(slots, np.int32)
        self.positions = np.zeros(slots, np.int32)
        self.regions = np.full((slots, SPANS[-1]), -1, np.int32)
        self.waiting = collections.deque()
        self.wanted = threading.Condition()
        self.failure = None
        threading.Thread(target=self.run, daemon=True).start()

    def complete(self, request):
        with self.wanted:
            self.waiting.append(request)
            self.wanted.notify()
        request.done.wait()
        if self.failure:
            raise self.failure

    def run(self):
        try:
            while True:
                with self.wanted:
                    while not self.waiting and not any(self.active):
                        self.wanted.wait()
                    free = [s for s, r in enumerate(self.active) if r is None]
                    new = [(s, self.waiting.popleft()) for s in free if self.waiting]
                for slot, request in new:
                    self.begin(slot, request)
                self.advance()
        except Exception as e:  # every request must get an answer
            self.failure = e
            with self.wanted:
                for request in [*self.active, *self.waiting]:
                    if request:
                        request.done.set()
            os._exit(1)

    def begin(self, slot, request):
        # The last token of the prompt is evaluated by the first step.
        n = len(request.prompt) - 1
        padded = np.zeros(next(p for p in PROMPTS if p >= n), np.int32)
        padded[:n] = request.prompt[:n]
        keys, values = network.prefill(self.config, self.parameters, padded)
        self.keys = network.place(self.keys, keys, slot)
        self.values = network.place(self.values, values, slot)
        self.tokens[slot], self.positions[slot] = request.prompt[n], n
        self.regions[slot] = -1
        self.regions[slot, : n + 1] = request.regions
        self.active[slot] = request

    def advance(self):
        span = next(s for s in SPANS if s > self.positions.max())
        self.keys, self.values, seen = network.step(
            self.config, span, self.keys, self.values, self.parameters, self.tokens, self.positions, self.regions[:, :span]
        )
        seen = {k: np.asarray(v) for k, v in seen.items()}
        seen["size"] = self.config.hidden
        for slot, request in enumerate(self.active):
            if request is None:
                continue
            token = request.take(seen, slot, self.chat)
            if token is None:
                self.active[slot] = None
                self.tokens[slot] = self.positions[slot] = 0
                request.done.set()
                continue
            self.tokens[slot] = token
            self.positions[slot] += 1
            self.regions[slot, self.positions[slot]] = network.REGIONS.index("own")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served = 0

    def send(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, why):
        self.send(status, {"error": {"message": why, "type": "invalid_request_error"}})

    def do_GET(self):
        if self.path != "/v1/models":
            return self.refuse(404, "no such path")
        self.send(200, {"object": "list", "data": [{"id": self.server.name, "object": "model", "vocabulary": self.server.engine.config.vocabulary}]})

    def do_POST(self):
        size = int(self.headers.get("Content-Length") or 0)
        if size > MAX_BODY:
            self.close_connection = True
            return self.refuse(413, "the request is too large")
        raw = self.rfile.read(size)
        if self.path not in ("/v1/chat/completions", "/v1/saliency"):
            return self.refuse(404, "no such path")
        try:
            body = json.loads(raw)
            if self.path == "/v1/saliency":
                return self.send(200, attribute(self.server.engine, body))
            request = Request(body, self.server.engine.chat)
        except (BadRequest, ValueError, KeyError, TypeError, AttributeError) as e:
            return self.refuse(400, str(e))
        self.server.engine.complete(request)
        Handler.served += 1
        self.send(200, request.answer(self.server.name, Handler.served))

    def log_message(self, *_):
        pass


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--model", required=True)
    flags.add_argument("--model-id", default="smollm2-135m-instruct")
    flags.add_argument("--listen-port", type=int, default=0)
    flags.add_argument("--url-file")
    flags.add_argument("--slots", type=int, default=16)
    flags = flags.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", flags.listen_port), Handler)
    server.daemon_threads = True
    server.name, server.engine = flags.model_id, Engine(flags.model, flags.slots)
    url = f"http://127.0.0.1:{server.server_port}/v1"
    if flags.url_file:
        with open(flags.url_file + ".new", "w") as f:
            f.write(url + "\n")
        os.replace(flags.url_file + ".new", flags.url_file)
    print(url, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
