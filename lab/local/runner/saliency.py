"""Which tokens of a prompt an output draws on: attention times gradient.

A[i, o] = sum over heads and layers of |a * dL_o/da|, a being the attention of
the position that predicts output token o on token i, and L_o that token's loss
(RTBAS, eq. 2). Only rows of output positions are needed: the prompt is read
once, forwards, and the gradient goes through the output's positions alone. What
one of them says of another is held constant, so that a row has its own loss's
gradient.

A token's score is the greatest share that it has of an output token's scores:
what is drawn on for one word of the output counts as much as what is drawn on
for all. Without the shares, the words that surprise the model hide those that
it copies. The first tokens, on which attention rests when there is nothing to
attend to, are left aside.

What does not fit has the middle of its longest regions cut, and the answer
says how many tokens that were.
"""

import functools
import threading

import jax
import jax.numpy as jnp
import numpy as np

import model as network

PROMPTS = (128, 256, 512, 1024, 2048)  # shapes that are compiled
OUTPUTS = (16, 48, 128)
RESTS = 4  # tokens at the start that are left aside
LEAST = 8  # tokens that are left of a region that is cut


def stacked(parameters):
    """The blocks' weights as one array each: a loop over layers compiles faster."""
    return jax.tree.map(lambda *xs: jnp.stack(xs), *parameters["blocks"])


@functools.partial(jax.jit, static_argnums=0)
def prefill(config, parameters, blocks, tokens):
    """Keys and values [layers, kv heads, length, size] of a prompt."""
    n = tokens.shape[0]
    positions = jnp.arange(n, dtype=jnp.float32)
    ahead = jnp.where(jnp.arange(n)[None, :] > jnp.arange(n)[:, None], -jnp.inf, 0.0)

    def layer(x, block):
        q, k, v = network.project(config, block, x, positions)
        k, v = k.swapaxes(0, 1), v.swapaxes(0, 1)
        q = q.swapaxes(0, 1).reshape(config.kv_heads, -1, config.size)
        scores = network.times(q / np.sqrt(config.size), k.swapaxes(1, 2).astype(jnp.bfloat16))
        weights = jax.nn.softmax(scores.reshape(config.kv_heads, -1, n, n) + ahead, -1)
        mixed = network.times(weights.reshape(*scores.shape), v.astype(jnp.bfloat16))
        mixed = mixed.reshape(config.kv_heads, -1, n, config.size).transpose(2, 0, 1, 3).reshape(n, -1)
        x = network.forward(config, block, x + network.times(mixed, block["out"]))
        return x, (k, v)

    _, (keys, values) = jax.lax.scan(layer, parameters["embedding"][tokens].astype(jnp.float32), blocks)
    return keys, values


@functools.partial(jax.jit, static_argnums=0)
def attribute(config, parameters, blocks, keys, values, n, rows, targets, m):
    """A [length, outputs] of a prompt's first n tokens, whose keys and values
    are given, and of rows: m tokens at positions n and on, that predict targets.
    Also the losses of the targets."""
    length, count = keys.shape[2], rows.shape[0]
    positions = n + jnp.arange(count, dtype=jnp.float32)
    unseen = jnp.where(jnp.arange(length)[None, :] < n, 0.0, -jnp.inf)
    before = jnp.where(jnp.arange(count)[None, :] < jnp.arange(count)[:, None], 0.0, -jnp.inf)
    x = parameters["embedding"][rows].astype(jnp.float32)
    live = (jnp.arange(count) < m).astype(jnp.float32)

    def loss(scale):
        def layer(x, of):
            block, key, value, s = of
            q, k, v = network.project(config, block, x, positions)
            q = q.reshape(count, config.kv_heads, -1, config.size) / np.sqrt(config.size)
            held_k, held_v = jax.lax.stop_gradient(k), jax.lax.stop_gradient(v)
            far = jnp.einsum("rbgd,btd->bgrt", q, key) + unseen
            near = jnp.einsum("rbgd,tbd->bgrt", q, held_k) + before
            own = jnp.einsum("rbgd,rbd->bgr", q, k)[..., None]
            a = jax.nn.softmax(jnp.concatenate([far, near, own], -1), -1)
            mixed = jnp.einsum("bgrt,btd->rbgd", a[..., :length] * s, value)
            mixed += jnp.einsum("bgrt,tbd->rbgd", a[..., length:-1], held_v)
            mixed += jnp.einsum("bgr,rbd->rbgd", a[..., -1], v)
            return network.forward(config, block, x + network.times(mixed.reshape(count, -1), block["out"])), None

        y, _ = jax.lax.scan(jax.checkpoint(layer), x, (blocks, keys, values, scale))
        logits = network.times(network.normed(y, parameters["norm"], config.epsilon), parameters["unembedding"])
        losses = -jnp.take_along_axis(jax.nn.log_softmax(logits, -1), targets[:, None], -1)[:, 0] * live
        return losses.sum(), losses

    groups = config.heads // config.kv_heads
    ones = jnp.ones((config.layers, config.kv_heads, groups, count, length), jnp.float32)
    # The gradient by a factor of a is a times the gradient by a.
    grad, losses = jax.grad(loss, has_aux=True)(ones)
    return jnp.abs(grad).sum((0, 1, 2)).T, losses


class TooLong(ValueError):
    pass


def cut(where, room):
    """Which of a prompt's tokens to keep, by the region of each, -1 for what is
    kept: at most room. The longest regions lose their middle."""
    lengths = np.bincount(where[where >= 0]) if (where >= 0).any() else np.zeros(1, int)
    room -= int((where < 0).sum())
    most = int(lengths.max())
    if lengths.sum() > room:
        most = max((k for k in range(LEAST, most) if np.minimum(lengths, k).sum() <= room), default=0)
        if most == 0:
            raise TooLong("the regions are longer than the model's context")
    keep = np.ones(len(where), bool)
    for region in np.flatnonzero(lengths > most):
        at = np.flatnonzero(where == region)
        keep[at[(most + 1) // 2 : len(at) - most // 2]] = False
    return keep


def features(scores, where, regions):
    """Six of each region (RTBAS, 7.2): its share of all scores; its mean in units
    of the mean of all; the 20th, 50th, 80th and 99th percentile in units of the
    greatest score. None for a region without tokens."""
    scores, where = scores[RESTS:], where[RESTS:]
    total, mean, most = scores.sum(), scores.mean(), scores.max()
    for region in range(regions):
        of = scores[where == region]
        if len(of) == 0 or not most > 0:
            yield None
            continue
        yield [of.sum() / total, of.mean() / mean, *(np.percentile(of, (20, 50, 80, 99)) / most)]


class Attributor:
    """Attributes outputs to regions of prompts, one at a time."""

    def __init__(self, config, parameters):
        self.config, self.parameters = config, parameters
        self.lock, self.blocks = threading.Lock(), None

    def attribute(self, prompt, where, output, regions):
        """prompt and output are tokens, where has a prompt token's region or -1."""
        prompt, where = np.asarray(prompt, np.int32), np.asarray(where)
        keep = cut(where, PROMPTS[-1] + 1)
        lost = np.bincount(where[~keep], minlength=regions) if not keep.all() else np.zeros(regions, int)
        prompt, where, written = prompt[keep], where[keep], len(output)
        output = output[: OUTPUTS[-1]]
        n, m = len(prompt) - 1, len(output)
        padded = np.zeros(next(p for p in PROMPTS if p >= n), np.int32)
        padded[:n] = prompt[:n]
        rows, targets = np.zeros((2, next(o for o in OUTPUTS if o >= m)), np.int32)
        rows[:m], targets[:m] = [prompt[n], *output[:-1]], output
        with self.lock:
            if self.blocks is None:
                self.blocks = stacked(self.parameters)
            keys, values = prefill(self.config, self.parameters, self.blocks, padded)
            scores, losses = attribute(self.config, self.parameters, self.blocks, keys, values, n, rows, targets, m)
            scores, losses = np.asarray(scores)[:n, :m], np.asarray(losses)[:m]
        shares = scores / np.maximum(scores.sum(0), 1e-30)
        found = features(shares.max(1), where[:n], regions)
        told = []
        for region, values in enumerate(found):
            told.append({
                "tokens": int((where == region).sum() + lost[region]),
                "cut": int(lost[region]),
                "features": None if values is None else [float(f"{v:.5g}") for v in values],
            })
        return {
            "version": 1,
            "prompt_tokens": len(keep),
            "output_tokens": written,
            "output_cut": written - m,
            "loss": float(f"{losses.mean():.5g}"),
            "regions": told,
        }
