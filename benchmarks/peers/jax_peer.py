#!/usr/bin/env python3
"""One workload in JAX: jit of value_and_grad. As many threads as the process has cores.

On a CUDA device gpt multiplies in bf16, as it does with autocast in the other programs, and attends with cuDNN.
"""
import argparse
import functools
import math

import jax
import jax.numpy as jnp

import measure
import workloads


def linear(layer, x):
    y = x @ layer["weight"]
    return y + layer["bias"] if "bias" in layer else y


def layer_norm(layer, x):
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-5) * layer["weight"] + layer["bias"]


def residual_layers(parameters, x, target):
    for norm, layer in zip(parameters["norms"], parameters["linears"]):
        x = x + jax.nn.silu(linear(layer, layer_norm(norm, x)))
    return ((x - target) ** 2).mean()


def potential(parameters, positions, pairs):
    first, second = pairs
    r = positions[first] - positions[second]
    d = jnp.sqrt(jnp.maximum((r * r).sum(-1), 1e-6))
    cut = 0.5 * (jnp.cos(math.pi * d / 6.0) + 1) * (d < 6.0)
    x = jnp.exp(-4.0 * (d[:, None] - parameters["centres"]) ** 2) * cut[:, None]
    for layer in parameters["linears"][:2]:
        x = jax.nn.silu(linear(layer, x))
    return (linear(parameters["linears"][2], x)[:, 0] * cut).sum()


def memory_bound(parameters, x, target, key):
    z = x * jax.lax.rsqrt((x ** 2).mean(-1, keepdims=True) + 1e-6) * parameters["weight"] + parameters["bias"]
    z = jax.nn.gelu(z, approximate=True) * jax.nn.sigmoid(x)
    z = jnp.where(jax.random.bernoulli(key, 0.9, z.shape), z / 0.9, 0.0)
    return ((z - target) ** 2).mean()


def linear_in_bf16(layer, x):
    return linear({name: value.astype(jnp.bfloat16) for name, value in layer.items()}, x.astype(jnp.bfloat16))


def attention(q, k, v):
    """Of tensors (batch, length, heads, width of a head), without what is later."""
    if q.dtype == jnp.bfloat16:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
    q, k, v = (part.transpose(0, 2, 1, 3) for part in (q, k, v))
    length = q.shape[2]
    scores = (q @ k.transpose(0, 1, 3, 2)) * q.shape[-1] ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    return (jax.nn.softmax(scores, -1) @ v).transpose(0, 2, 1, 3)


def block(parameters, x, heads, product):
    batch, length, width = x.shape
    q, k, v = (part.reshape(batch, length, heads, -1)
               for part in jnp.split(product(parameters["qkv"], layer_norm(parameters["norm1"], x)), 3, -1))
    x = x + product(parameters["out"], attention(q, k, v).reshape(batch, length, width))
    hidden = jax.nn.gelu(product(parameters["up"], layer_norm(parameters["norm2"], x)), approximate=False)
    return x + product(parameters["down"], hidden)


def gpt(device, parameters, text, target):
    product = linear_in_bf16 if device == "cuda" else linear
    x = parameters["tokens"]["weight"][text] + parameters["positions"]["weight"][jnp.arange(text.shape[1])]
    for layer in parameters["blocks"]:
        x = block(layer, x, workloads.HEADS[device], product)
    logits = product(parameters["head"], layer_norm(parameters["norm"], x)).astype(jnp.float32)
    chosen = jnp.take_along_axis(logits, target[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - chosen).mean()


LOSSES = {"small": residual_layers, "mlp": residual_layers, "pot": potential, "mem": memory_bound}


def make_step(name, device):
    """Returns a function without arguments that computes loss and gradients and waits for them."""
    parameters, inputs = jax.device_put(workloads.make(name, device))
    jax.block_until_ready((parameters, inputs))
    differentiated = jax.value_and_grad(LOSSES.get(name, functools.partial(gpt, device)), argnums=(0, 1) if name == "pot" else 0)
    if name != "mem":
        compiled = jax.jit(differentiated)
        return lambda: jax.block_until_ready(compiled(parameters, *inputs))

    @jax.jit
    def with_new_key(parameters, inputs, key):
        key, drawn = jax.random.split(key)
        return differentiated(parameters, *inputs, drawn), key

    key = jax.block_until_ready(jax.random.key(0))

    def step():
        nonlocal key
        result, key = jax.block_until_ready(with_new_key(parameters, inputs, key))
        return result

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=workloads.NAMES)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    jax.config.update("jax_platforms", arguments.device)
    if arguments.device == "cuda":
        jax.config.update("jax_default_matmul_precision", "tensorfloat32")
    measure.measure(make_step(arguments.workload, arguments.device), lambda result: float(result[0]), arguments.seconds)


if __name__ == "__main__":
    main()
