#!/usr/bin/env python3
"""One workload in PyTorch. For a cold torch.compile, point TORCHINDUCTOR_CACHE_DIR at an empty folder."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import measure
import workloads


class ResidualLayers(nn.Module):
    """small, mlp"""

    def __init__(self, width, layers):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.linears = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x, target):
        for norm, linear in zip(self.norms, self.linears):
            x = x + F.silu(linear(norm(x)))
        return F.mse_loss(x, target)


class Potential(nn.Module):
    """pot: energy of pairs of atoms; its gradient with respect to the positions is minus the forces."""

    def __init__(self, features=32, width=64):
        super().__init__()
        self.centres = nn.Parameter(torch.empty(features))
        self.linears = nn.ModuleList([nn.Linear(features, width), nn.Linear(width, width), nn.Linear(width, 1)])

    def forward(self, positions, pairs):
        first, second = pairs
        r = positions[first] - positions[second]
        d = (r * r).sum(-1).clamp_min(1e-6).sqrt()
        cut = 0.5 * (torch.cos(math.pi * d / 6.0) + 1) * (d < 6.0)
        x = torch.exp(-4.0 * (d[:, None] - self.centres) ** 2) * cut[:, None]
        for linear in self.linears[:2]:
            x = F.silu(linear(x))
        return (self.linears[2](x).squeeze(-1) * cut).sum()


class MemoryBound(nn.Module):
    """mem"""

    def __init__(self, width=1024):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.bias = nn.Parameter(torch.empty(width))

    def forward(self, x, target):
        z = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight + self.bias
        z = F.gelu(z, approximate="tanh") * torch.sigmoid(x)
        return ((F.dropout(z, 0.1) - target) ** 2).mean()


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1))
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, heads, vocabulary=4096, width=256, blocks=4, length=128):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, text, target):
        x = self.tokens(text) + self.positions(torch.arange(text.shape[1], device=text.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), target.flatten())


def module_of(name, device):
    sizes = dict(workloads.CUDA_SIZES.get(name, {})) if device == "cuda" else {}
    if name == "gpt":
        sizes.pop("batch", None)
        return Gpt(workloads.HEADS[device], **sizes)
    if name in ("small", "mlp"):
        return ResidualLayers(16, 4) if name == "small" else ResidualLayers(sizes.get("width", 256), 6)
    return Potential() if name == "pot" else MemoryBound()


def load(module, tree):
    """Sets parameters from a tree of workloads.py, whose keys are the names of modules and parameters."""
    if isinstance(tree, list):
        tree = {str(i): branch for i, branch in enumerate(tree)}
    for name, branch in tree.items():
        target = getattr(module, name)
        if isinstance(target, nn.Module):
            load(target, branch)
        else:
            values = torch.from_numpy(branch)
            transposed = isinstance(module, nn.Linear) and name == "weight"
            target.data.copy_(values.t() if transposed else values)


def inputs_of(name, arrays, device):
    inputs = [torch.from_numpy(array).to(device) for array in arrays]
    inputs = [t.long() if t.dtype == torch.int32 else t for t in inputs]
    if name == "pot":
        inputs[0].requires_grad_()
    return inputs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=workloads.NAMES)
    parser.add_argument("mode", choices=("eager", "compile"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    device = arguments.device
    torch.set_num_threads(arguments.threads)
    if device == "cuda":
        torch.set_float32_matmul_precision("high")
    torch.manual_seed(0)
    parameters, arrays = workloads.make(arguments.workload, device)
    module = module_of(arguments.workload, device)
    load(module, parameters)
    module.to(device)
    inputs = inputs_of(arguments.workload, arrays, device)
    forward = torch.compile(module) if arguments.mode == "compile" else module

    def step():
        module.zero_grad(set_to_none=True)
        for tensor in inputs:
            tensor.grad = None
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda" and arguments.workload == "gpt"):
            loss = forward(*inputs)
        loss.backward()
        if device == "cuda":
            torch.cuda.synchronize()
        return loss

    def peak_mb():
        return torch.cuda.max_memory_allocated() / 1e6 if device == "cuda" else None

    measure.measure(step, lambda loss: loss.item(), arguments.seconds, peak_mb)


if __name__ == "__main__":
    main()
