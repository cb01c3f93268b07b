"""Trains SmolLM2-135M-Instruct with GRPO by the reward of `margay-lab reward`.

It is an example of a client, in one file: read prompts, sample a group of
completions for each, ask for their rewards, and move the weights towards the
completions that are better than their group (Shao et al., DeepSeekMath, eq. 3, with
one update for each sample and no reference model). The model's forward pass is
written out below, in JAX, so that nothing but a CPU is needed. A large defender is
trained by a framework for that; only Endpoint and the loop matter then.

The last layers alone are trained. The curve is a table: a line for each step.
"""
import argparse
import functools
import json
import sys
import time
import urllib.request

import gguf
import jax
import jax.numpy as jnp
import numpy as np
import tokenizers

FORM = """You find personal data in texts. Write a line for each stretch: the kind, a colon, and the stretch as it stands. Write none if there is nothing.

Kinds: email, legal-name, phone
Text: Anna Weber will call from 555 0100 about the blue lamp.
legal-name: Anna Weber
phone: 555 0100

Kinds: address, dob
Text: The lamp is blue and works well.
none

Kinds: {kinds}
{texts}
"""


def asked(step):
    """The prompt of a step. It is shorter than the endpoint's own, for a small model."""
    texts = "\n".join("Text: " + x["text"] for x in step["texts"] if not x["typed"])
    return FORM.format(kinds=", ".join(sorted(step["fields"])), texts=texts)


def said(step, text):
    """The completion as the endpoint reads it. Lines that name no kind, or quote
    nothing that is there, are left out; if that leaves nothing and the model did not
    say so, the text goes as it is, and counts as evidence that can't be used."""
    quotes = []
    for line in text.strip().split("\n"):
        field, _, quote = (x.strip() for x in line.partition(":"))
        for x in step["texts"]:
            if not x["typed"] and field in step["fields"] and quote and quote in x["text"]:
                quotes.append({"text": x["number"], "quote": quote, "field": field, "relation": "explicit"})
    if not quotes and not text.strip().startswith("none"):
        return text
    return json.dumps({"quotes": quotes[:64]})


class Endpoint:
    """margay-lab reward."""

    def __init__(self, url):
        self.url = url
        self.about = self.call("/healthz")

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.url + path, data, timeout=300) as r:
            return json.load(r)

    def steps(self):
        at = 0
        while at is not None:
            page = self.call(f"/tasks?from={at}&n=256")
            yield from page["steps"]
            at = page.get("next")

    def rewards(self, outputs):
        return self.call("/reward", {"batch": outputs})["rewards"]


class Model:
    """A Llama read from a GGUF file: embeddings, frozen layers, trained layers."""

    def __init__(self, path, trained):
        r = gguf.GGUFReader(path)
        get = lambda key: r.fields[key].contents()
        self.heads, self.kv = get("llama.attention.head_count"), get("llama.attention.head_count_kv")
        self.eps, self.theta = get("llama.attention.layer_norm_rms_epsilon"), get("llama.rope.freq_base")
        layers = get("llama.block_count")
        t = {x.name: gguf.quants.dequantize(x.data, x.tensor_type).astype(np.float32) for x in r.tensors}
        stack = lambda a, b: {
            n: jnp.stack([t[f"blk.{i}.{n}.weight"] for i in range(a, b)])
            for n in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
        }
        self.base = {"embed": jnp.asarray(t["token_embd.weight"]), "layers": stack(0, layers - trained)}
        self.params = {"layers": stack(layers - trained, layers), "norm": jnp.asarray(t["output_norm.weight"])}
        tokens = get("tokenizer.ggml.tokens")
        merges = [tuple(m.split(" ")) for m in get("tokenizer.ggml.merges")]
        self.tok = tokenizers.Tokenizer(tokenizers.models.BPE({w: i for i, w in enumerate(tokens)}, merges))
        pre = tokenizers.pre_tokenizers
        self.tok.pre_tokenizer = pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])
        self.tok.decoder = tokenizers.decoders.ByteLevel()
        self.tok.add_special_tokens([w for w, k in zip(tokens, get("tokenizer.ggml.token_type")) if k == 3])
        self.eos = get("tokenizer.ggml.eos_token_id")

    def rms(self, x, w):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + self.eps) * w

    def rope(self, x, pos):
        """Pairs of neighbours turn, as in GGUF files of this architecture."""
        half = x.shape[-1] // 2
        angle = pos[:, :, None, None] * self.theta ** (-jnp.arange(half) / half)
        a, b = x[..., 0::2], x[..., 1::2]
        return jnp.stack([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1).reshape(x.shape)

    def layer(self, w, x, pos, mask, cache=None, at=0):
        """One layer. With a cache, keys and values are written to it at a place."""
        n, length, dim = x.shape
        h = self.rms(x, w["attn_norm"])
        split = lambda y, k: y.reshape(n, length, k, -1)
        q = self.rope(split(h @ w["attn_q"].T, self.heads), pos)
        k = self.rope(split(h @ w["attn_k"].T, self.kv), pos)
        v = split(h @ w["attn_v"].T, self.kv)
        if cache is not None:
            k = jax.lax.dynamic_update_slice(cache[0], k, (0, at, 0, 0))
            v = jax.lax.dynamic_update_slice(cache[1], v, (0, at, 0, 0))
        q = q.reshape(n, length, self.kv, self.heads // self.kv, -1)
        s = jnp.einsum("nqkgd,nskd->nkgqs", q, k) / q.shape[-1] ** 0.5
        s = jax.nn.softmax(jnp.where(mask[:, None, None], s, -1e30), -1)
        x = x + jnp.einsum("nkgqs,nskd->nqkgd", s, v).reshape(n, length, dim) @ w["attn_output"].T
        h = self.rms(x, w["ffn_norm"])
        return x + (jax.nn.silu(h @ w["ffn_gate"].T) * (h @ w["ffn_up"].T)) @ w["ffn_down"].T, (k, v)

    def run(self, layers, x, pos, mask, cache=None, at=0):
        def one(x, w):
            w, c = w if cache is not None else (w, None)
            return self.layer(w, x, pos, mask, c, at)

        return jax.lax.scan(jax.checkpoint(one), x, layers if cache is None else (layers, cache))

    def logits(self, base, params, x):
        return self.rms(x, params["norm"]) @ base["embed"].T

    @functools.partial(jax.jit, static_argnums=(0, 5))
    def sample(self, base, params, ids, key, count, temperature):
        """Draws count tokens behind prompts that are padded to the left with -1."""
        n, length = ids.shape
        real = ids >= 0
        pos = jnp.maximum(jnp.cumsum(real, 1) - 1, 0)
        seen = jnp.concatenate([real, jnp.zeros((n, count), bool)], 1)
        causal = jnp.arange(length + count)[None, :] <= jnp.arange(length)[:, None]
        mask = causal[None] & seen[:, None]
        empty = lambda w: tuple(jnp.zeros((w["attn_k"].shape[0], n, length + count, self.kv, base["embed"].shape[1] // self.heads)) for _ in range(2))
        x, first = self.run(base["layers"], base["embed"][jnp.maximum(ids, 0)], pos, mask, empty(base["layers"]))
        x, last = self.run(params["layers"], x, pos, mask, empty(params["layers"]))

        def step(state, t):
            x, first, last, seen, done, key = state
            key, now = jax.random.split(key)
            token = jax.random.categorical(now, self.logits(base, params, x[:, -1]) / temperature)
            token = jnp.where(done, self.eos, token)
            seen = seen.at[:, length + t].set(True)
            where = jnp.sum(seen, 1, keepdims=True) - 1
            x = base["embed"][token][:, None]
            x, first = self.run(base["layers"], x, where, seen[:, None], first, length + t)
            x, last = self.run(params["layers"], x, where, seen[:, None], last, length + t)
            return (x, first, last, seen, done | (token == self.eos), key), token

        state = (x[:, -1:], first, last, seen, jnp.zeros(n, bool), key)
        return jax.lax.scan(step, state, jnp.arange(count))[1].T

    @functools.partial(jax.jit, static_argnums=0)
    def gradient(self, base, params, ids, tokens, weight, advantage, temperature):
        """The gradient of the loss: minus the advantage of each token that was drawn."""
        count = tokens.shape[1]
        all_ids = jnp.concatenate([ids, tokens], 1)
        real = all_ids >= 0
        pos = jnp.maximum(jnp.cumsum(real, 1) - 1, 0)
        mask = jnp.tril(jnp.ones((all_ids.shape[1],) * 2, bool))[None] & real[:, None]
        x, _ = self.run(base["layers"], base["embed"][jnp.maximum(all_ids, 0)], pos, mask)
        x = jax.lax.stop_gradient(x)

        def loss(params):
            y, _ = self.run(params["layers"], x, pos, mask)
            y = jax.nn.log_softmax(self.logits(base, params, y[:, -count - 1 : -1]) / temperature)
            drawn = jnp.take_along_axis(y, tokens[..., None], -1)[..., 0]
            return -jnp.sum(drawn * weight * advantage[:, None]) / jnp.maximum(jnp.sum(weight), 1)

        return jax.value_and_grad(loss)(params)


@jax.jit
def adam(params, grad, m, v, t, rate):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grad)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grad)
    new = lambda p, m, v: p - rate * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return jax.tree.map(new, params, m, v), m, v


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--url", required=True, help="of margay-lab reward")
    a.add_argument("--model", required=True, help="GGUF file")
    a.add_argument("--curve", required=True, help="file for the reward curve")
    a.add_argument("--steps", type=int, default=20)
    a.add_argument("--batch", type=int, default=4, help="prompts of a step")
    a.add_argument("--group", type=int, default=4, help="completions of a prompt")
    a.add_argument("--tokens", type=int, default=40, help="of a completion")
    a.add_argument("--prompt", type=int, default=288, help="tokens of a prompt; longer ones are left out")
    a.add_argument("--layers", type=int, default=4, help="layers from the end that are trained")
    a.add_argument("--rate", type=float, default=2e-5)
    a.add_argument("--temperature", type=float, default=0.8)
    a.add_argument("--seed", type=int, default=1)
    o = a.parse_args()
    if min(o.steps, o.batch, o.group - 1, o.tokens, o.prompt, o.layers) < 1 or o.batch * o.group > 256:
        a.error("counts are 1 or more, a group has 2 or more, and a step 256 completions at most")

    endpoint = Endpoint(o.url)
    print("endpoint", json.dumps(endpoint.about), file=sys.stderr)
    model = Model(o.model, o.layers)
    prompts = []
    for s in endpoint.steps():
        ids = model.tok.encode(asked(s)).ids
        if len(ids) <= o.prompt:
            prompts.append((s, [-1] * (o.prompt - len(ids)) + ids))
    if not prompts:
        sys.exit("no prompt is short enough; raise --prompt")
    print(f"{len(prompts)} prompts, {sum(p.size for p in jax.tree.leaves(model.params)) / 1e6:.0f} million weights to train", file=sys.stderr)

    draw, key = np.random.default_rng(o.seed), jax.random.key(o.seed)
    m = v = jax.tree.map(jnp.zeros_like, model.params)
    curve = open(o.curve, "w")
    columns = ("step", "reward", "best", "fallback", "utility", "escaped", "mentions", "distinct", "loss", "seconds")
    print("\t".join(columns), file=curve, flush=True)
    for step in range(1, o.steps + 1):
        began = time.monotonic()
        some = [prompts[i] for i in draw.integers(len(prompts), size=o.batch)]
        ids = jnp.asarray([p for _, p in some for _ in range(o.group)])
        key, now = jax.random.split(key)
        tokens = np.asarray(model.sample(model.base, model.params, ids, now, o.tokens, o.temperature))
        outputs, weight = [], np.zeros(tokens.shape, np.float32)
        for i, row in enumerate(tokens):
            end = int(np.argmax(row == model.eos)) if (row == model.eos).any() else len(row)
            text = model.tok.decode(row[:end].tolist())
            if "\n\n" in text:  # an answer ends with an empty line; what comes after is not trained on
                text = text[: text.index("\n\n")]
                end = len(model.tok.encode(text).ids)
            weight[i, : end + 1] = 1
            s = some[i // o.group][0]
            outputs.append({"task": s["task"], "step": s["step"], "completion": said(s, text)})
        scores = endpoint.rewards(outputs)
        reward = np.array([r["reward"] for r in scores]).reshape(o.batch, o.group)
        advantage = (reward - reward.mean(1, keepdims=True)) / (reward.std(1, keepdims=True) + 1e-4)
        loss, grad = model.gradient(model.base, model.params, ids, tokens, weight, advantage.reshape(-1).astype(np.float32), o.temperature)
        model.params, m, v = adam(model.params, grad, m, v, step, o.rate)
        mean = lambda name: np.mean([r[name] for r in scores])
        row = (step, reward.mean(), reward.max(), mean("fallback"), mean("utility"), sum(r["escaped"] for r in scores),
               sum(r["mentions"] for r in scores), len({x["completion"] for x in outputs}), float(loss), time.monotonic() - began)
        print("\t".join(f"{x:.4f}" if isinstance(x, float) else str(x) for x in row), file=curve, flush=True)
        print(f"step {step} of {o.steps}: mean reward {reward.mean():.3f}, fallback {mean('fallback'):.3f}, e.g. {outputs[0]['completion'][:100]!r}", file=sys.stderr)
    curve.close()


if __name__ == "__main__":
    main()
