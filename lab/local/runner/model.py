"""SmolLM2 (the Llama architecture) in JAX, with what its inside tells.

Weights come from a GGUF file and are computed with in bfloat16; the residual
stream, attention and all that is reported are float32. A processor with AMX or
AVX-512 multiplies bfloat16 matrices several times as fast as float32 ones.

A step returns, for each sequence of a batch, the likeliest next tokens with
their log-probabilities over the whole vocabulary, the exact entropy, and the
telemetry of docs/format/telemetry.md.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

LIKELIEST = 40  # alternatives that a token is drawn from
REGIONS = ("public", "private", "system", "own")  # own: what the model wrote


class Config:
    def __init__(self, reader):
        def field(name):
            return reader.fields["llama." + name].contents()

        self.layers = field("block_count")
        self.heads = field("attention.head_count")
        self.kv_heads = field("attention.head_count_kv")
        self.hidden = field("embedding_length")
        self.size = field("rope.dimension_count")  # of a head
        self.theta = field("rope.freq_base")
        self.epsilon = field("attention.layer_norm_rms_epsilon")
        self.vocabulary = field("vocab_size")


def load(path):
    """Reads a GGUF file: its configuration, weights, tokens and merges."""
    reader = GGUFReader(path)
    if reader.fields["general.architecture"].contents() != "llama":
        raise ValueError(f"{path}: not a Llama model")
    config = Config(reader)
    weights = {t.name: dequantize(t.data, t.tensor_type) for t in reader.tensors}

    def matrix(name):  # [in, out], as it is multiplied with
        return jnp.asarray(weights[name + ".weight"].T, jnp.bfloat16)

    def vector(name):
        return jnp.asarray(weights[name + ".weight"], jnp.float32)

    def joined(prefix, names):
        return jnp.concatenate([matrix(prefix + n) for n in names], axis=1)

    blocks = []
    for i in range(config.layers):
        prefix = f"blk.{i}."
        blocks.append(
            {
                "attention_norm": vector(prefix + "attn_norm"),
                "qkv": joined(prefix, ("attn_q", "attn_k", "attn_v")),
                "out": matrix(prefix + "attn_output"),
                "ffn_norm": vector(prefix + "ffn_norm"),
                "gate_up": joined(prefix, ("ffn_gate", "ffn_up")),
                "down": matrix(prefix + "ffn_down"),
            }
        )
    embedding = jnp.asarray(weights["token_embd.weight"], jnp.bfloat16)
    parameters = {
        "embedding": embedding,
        "unembedding": jnp.asarray(embedding.T),  # they are tied
        "norm": vector("output_norm"),
        "blocks": blocks,
    }
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    return config, parameters, tokens, merges


def normed(x, weight, epsilon):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + epsilon) * weight


def times(x, matrix):
    return jnp.matmul(x.astype(jnp.bfloat16), matrix, preferred_element_type=jnp.float32)


def rotate(x, positions, theta):
    """Rotary positions on pairs of neighbours, as GGUF files have them."""
    half = x.shape[-1] // 2
    angles = positions[..., None, None] * theta ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    return jnp.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)


def project(config, block, x, positions):
    """Queries, keys and values of x [..., hidden], by head."""
    y = times(normed(x, block["attention_norm"], config.epsilon), block["qkv"])
    y = y.reshape(*y.shape[:-1], config.heads + 2 * config.kv_heads, config.size)
    q, k, v = jnp.split(y, [config.heads, config.heads + config.kv_heads], axis=-2)
    return rotate(q, positions, config.theta), rotate(k, positions, config.theta), v


def forward(config, block, x):
    y = times(normed(x, block["ffn_norm"], config.epsilon), block["gate_up"])
    gate, up = jnp.split(y, 2, axis=-1)
    return x + times(jax.nn.silu(gate) * up, block["down"])


@functools.partial(jax.jit, static_argnums=0)
def prefill(config, parameters, tokens):
    """Keys [kv heads, size, length] and values [kv heads, length, size] of one
    prompt, by layer.

    What stands behind the prompt's end is padding, and of no effect: nobody
    looks ahead.
    """
    n = tokens.shape[0]
    x = parameters["embedding"][tokens].astype(jnp.float32)
    positions = jnp.arange(n, dtype=jnp.float32)
    ahead = jnp.where(jnp.arange(n)[None, :] > jnp.arange(n)[:, None], -jnp.inf, 0.0)
    keys, values = [], []
    for block in parameters["blocks"]:
        q, k, v = project(config, block, x, positions)
        k, v = k.swapaxes(0, 1), v.swapaxes(0, 1)
        k = k.swapaxes(1, 2)
        keys.append(k)
        values.append(v)
        shape = (config.kv_heads, -1, n, config.size)
        q = q.swapaxes(0, 1).reshape(config.kv_heads, -1, config.size)  # one product a kv head
        scores = times(q / np.sqrt(config.size), k.astype(jnp.bfloat16))
        weights = jax.nn.softmax(scores.reshape(*shape[:3], n) + ahead, -1)
        mixed = times(weights.reshape(*scores.shape), v.astype(jnp.bfloat16)).reshape(shape)
        mixed = mixed.transpose(2, 0, 1, 3).reshape(n, -1)
        x = forward(config, block, x + times(mixed, block["out"]))
    return keys, values


@functools.partial(jax.jit, donate_argnums=0)
def place(cache, new, slot):
    """Puts one prompt's keys or values into a slot of the cache."""
    return [jax.lax.dynamic_update_slice(c, n[None], (slot, 0, 0, 0)) for c, n in zip(cache, new)]


@functools.partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2, 3))
def step(config, span, keys, values, parameters, tokens, positions, regions):
    """Evaluates one token of each slot. No position reaches span.

    regions [slots, span] is the index of a position's region, or -1.
    """
    slots = jnp.arange(tokens.shape[0])
    x = parameters["embedding"][tokens].astype(jnp.float32)
    unseen = jnp.where(jnp.arange(span)[None, :] > positions[:, None], -jnp.inf, 0.0)
    of = (regions[:, :, None] == jnp.arange(len(REGIONS))).astype(jnp.float32)
    last = None
    for i, block in enumerate(parameters["blocks"]):
        q, k, v = project(config, block, x, positions.astype(jnp.float32))
        keys[i] = keys[i].at[slots, :, :, positions].set(k)
        values[i] = values[i].at[slots, :, positions].set(v)
        q = q.reshape(len(slots), config.kv_heads, -1, config.size)
        scores = jnp.einsum("bgqd,bgdt->bgqt", q, keys[i][..., :span])
        weights = jax.nn.softmax(scores / np.sqrt(config.size) + unseen[:, None, None], -1)
        mixed = jnp.einsum("bgqt,bgtd->bgqd", weights, values[i][:, :, :span])
        last = jnp.einsum("bt,btr->br", weights.mean((1, 2)), of)
        x = forward(config, block, x + times(mixed.reshape(len(slots), -1), block["out"]))
    logits = times(normed(x, parameters["norm"], config.epsilon), parameters["unembedding"])
    logprobs = jax.nn.log_softmax(logits, -1)
    top, which = jax.lax.top_k(logprobs, LIKELIEST)
    return keys, values, {
        "logprobs": top,
        "tokens": which,
        "entropy": -(jnp.exp(logprobs) * logprobs).sum(-1),
        "norm": jnp.sqrt((x * x).sum(-1)),
        "variance": x.var(-1),
        "last": last,
    }
