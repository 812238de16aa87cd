#!/usr/bin/env python3
"""Exports models in Python, runs them there and by `antegrad run`, and compares losses, gradients and buffers.

    compare.py --antegrad build/release/src/cli/antegrad [--only NAME...] [--backend default] [--table FILE] [--folder FOLDER]

Needs the packages of requirements.txt. Exits with 1 if a model differs or does not run.
"""

import argparse
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch
from safetensors.torch import save_file

from models import MODELS

# Sums of squares of gradients are compared, relative to what they are in Python. Gradients that are zero but for rounding
# (biases before a batch norm) are compared with the sum of all.
ALLOWED = {torch.float32: 1e-4, torch.float64: 1e-9}
OF_ALL = 1e-6


def python_results(module, arguments):
    torch.manual_seed(0)
    loss = module(*arguments)
    loss.backward()
    gradients = {
        name: None if parameter.grad is None else parameter.grad.double().pow(2).sum().item()
        for name, parameter in module.named_parameters(remove_duplicate=False)
    }
    return {"loss": loss.item(), "gradients": gradients, "buffers": {name: buffer.double().sum().item() for name, buffer in module.named_buffers()}}


def differences(ours, theirs, allowed):
    """The largest deviation, and what deviates too far."""
    wrong, largest = [], 0.0
    if ours["loss"] is None or abs(ours["loss"] - theirs["loss"]) > 1e-5 * max(1.0, abs(theirs["loss"])):
        wrong.append(f"loss {ours['loss']} is {theirs['loss']} in Python")
    total = sum(value for value in theirs["gradients"].values() if value)
    for name, value in theirs["gradients"].items():
        mine = ours["gradients"].get(name)
        if (mine or 0.0) == (value or 0.0):
            continue
        apart = abs((mine or 0.0) - (value or 0.0)) / max(value or 0.0, OF_ALL * total)
        largest = max(largest, apart)
        if not apart <= allowed:
            wrong.append(f"gradient of {name}: {mine} is {value} in Python")
    for name, value in theirs["buffers"].items():
        mine = ours["buffers"].get(name)
        if mine is not None and not abs(mine - value) <= 1e-4 * max(1.0, abs(value)):
            wrong.append(f"buffer {name}: {mine} is {value} in Python")
    return largest, wrong


def compare(name, command, folder, backend):
    torch.manual_seed(0)
    module, arguments = MODELS[name]()
    module.train()
    dtype = next(module.parameters()).dtype
    path = folder / (name.replace("/", "_") + ".pt2")
    torch.export.save(torch.export.export(module, arguments, strict=False), path)
    inputs = f"{path}.safetensors"
    names = list(inspect.signature(module.forward).parameters)
    save_file({name: tensor.contiguous() for name, tensor in zip(names, arguments)}, inputs)
    theirs = python_results(module, arguments)
    start = time.time()
    run = subprocess.run(
        [command, "run", str(path), "--inputs", inputs, "--seed", "0", "--gradients", "--json", "--threads", "1", "--backend", backend],
        capture_output=True,
        text=True,
        env=dict(os.environ, ANTEGRAD_CACHE="off"),
    )
    seconds = time.time() - start
    row = {"name": name, "dtype": str(dtype).replace("torch.float", "f"), "parameters": len(theirs["gradients"]), "seconds": seconds, "largest": 0.0}
    if run.returncode != 0:
        return dict(row, wrong=[run.stderr.strip() or f"exit code {run.returncode}"], note="fails")
    ours = json.loads(run.stdout)
    largest, wrong = differences(ours, theirs, ALLOWED[dtype])
    note = "differs" if wrong else "op by op: " + ours["uncompiled"][0] if ours.get("uncompiled") else "equal"
    return dict(row, largest=largest, wrong=wrong, note=note)


def table(rows):
    lines = ["| model | dtype | gradients | largest deviation | s | |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        lines.append(f"| `{row['name']}` | {row['dtype']} | {row['parameters']} | {row['largest']:.1e} | {row['seconds']:.1f} | {row['note']} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--antegrad", required=True, help="the command")
    parser.add_argument("--only", nargs="+", choices=sorted(MODELS), help="these models")
    parser.add_argument("--backend", default="default", help="as of `antegrad run`")
    parser.add_argument("--table", help="a file for the table; otherwise it is printed")
    parser.add_argument("--folder", help="keeps the programs there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.only or MODELS:
            try:
                row = compare(name, options.antegrad, folder, options.backend)
            except Exception as error:  # one model that cannot be exported does not end the run
                row = {"name": name, "dtype": "", "parameters": 0, "seconds": 0.0, "largest": 0.0, "wrong": [f"{type(error).__name__}: {error}"], "note": "not exported"}
            rows.append(row)
            print(f"{name:24} {row['note']}", file=sys.stderr, flush=True)
            for line in row["wrong"][:8]:
                print(f"    {line}", file=sys.stderr)
    if options.table:
        pathlib.Path(options.table).write_text(table(rows))
    else:
        print(table(rows), end="")
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
