"""Parameters and inputs of the five workloads as numpy arrays, the same for every peer.

Parameters are trees of dicts and lists. The weight of a linear layer is (in, out), as JAX multiplies it. Sizes are those of
`bench_steps`, with `--device cuda` those for a large device.
"""
import numpy as np

NAMES = ("small", "mlp", "pot", "mem", "gpt")
HEADS = {"cpu": 8, "cuda": 12}  # of gpt
CUDA_SIZES = {"mlp": {"rows": 4096, "width": 1024}, "pot": {"atoms": 20_000}, "mem": {"rows": 65_536},
              "gpt": {"vocabulary": 50_304, "width": 768, "blocks": 12, "batch": 16, "length": 1024}}


class Maker:
    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)

    def normal(self, *shape):
        return self.random.standard_normal(shape, dtype=np.float32)

    def integers(self, below, *shape):
        return self.random.integers(0, below, shape, dtype=np.int32)

    def linear(self, inputs, outputs, bias=True):
        bound = 1 / np.sqrt(inputs)
        layer = {"weight": self.random.uniform(-bound, bound, (inputs, outputs)).astype(np.float32)}
        if bias:
            layer["bias"] = self.random.uniform(-bound, bound, outputs).astype(np.float32)
        return layer

    @staticmethod
    def norm(width):
        return {"weight": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}

    def residual_layers(self, rows, width, layers):
        parameters = {"norms": [self.norm(width) for _ in range(layers)],
                      "linears": [self.linear(width, width) for _ in range(layers)]}
        return parameters, (self.normal(rows, width), self.normal(rows, width))

    def small(self):
        return self.residual_layers(rows=8, width=16, layers=4)

    def mlp(self, rows=256, width=256):
        return self.residual_layers(rows, width, layers=6)

    def pot(self, atoms=2000, features=32, width=64):
        parameters = {"centres": np.linspace(0.5, 5, features, dtype=np.float32),
                      "linears": [self.linear(features, width), self.linear(width, width), self.linear(width, 1)]}
        positions = self.random.random((atoms, 3), dtype=np.float32) * 10
        return parameters, (positions, self.integers(atoms, 2, 20 * atoms))

    def mem(self, rows=4096, width=1024):
        return self.norm(width), (self.normal(rows, width), self.normal(rows, width))

    def gpt(self, vocabulary=4096, width=256, blocks=4, batch=4, length=128):
        parameters = {"tokens": {"weight": self.normal(vocabulary, width)},
                      "positions": {"weight": self.normal(length, width)},
                      "blocks": [self.block(width) for _ in range(blocks)],
                      "norm": self.norm(width),
                      "head": self.linear(width, vocabulary, bias=False)}
        return parameters, (self.integers(vocabulary, batch, length), self.integers(vocabulary, batch, length))

    def block(self, width):
        return {"norm1": self.norm(width), "qkv": self.linear(width, 3 * width), "out": self.linear(width, width),
                "norm2": self.norm(width), "up": self.linear(width, 4 * width), "down": self.linear(4 * width, width)}


def make(name, device="cpu"):
    """Returns (parameters, inputs)."""
    return getattr(Maker(), name)(**(CUDA_SIZES.get(name, {}) if device == "cuda" else {}))
