#!/usr/bin/env python3
"""Runs antegrad, PyTorch and JAX on the same workloads, one after the other, and prints a table in Markdown."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = ("torch eager", "torch.compile", "JAX")
# Weights and inputs are the same, so losses are; dropout draws different numbers, and mem's is a mean of many.
LOSS_TOLERANCE = 5e-3


def limit_cores(count):
    """JAX takes as many threads as there are cores."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:count])
    return min(count, len(cores))


def run_json(command, **environment):
    result = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout.strip().splitlines()[-1])


def run_ours(program, name, arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        subprocess.run([program, "--workload", name, "--json", path, "--threads", str(arguments.threads),
                        "--seconds", str(arguments.seconds)], stdout=subprocess.DEVNULL, check=True)
        with open(path, encoding="utf-8") as file:
            return json.load(file)[0]


def run_peer(peer, name, arguments):
    seconds = ["--seconds", str(arguments.seconds)]
    if peer == "JAX":
        return run_json([sys.executable, os.path.join(HERE, "jax_peer.py"), name, *seconds])
    mode = "compile" if peer == "torch.compile" else "eager"
    with tempfile.TemporaryDirectory() as cache:
        return run_json([sys.executable, os.path.join(HERE, "torch_peer.py"), name, mode, *seconds,
                         "--threads", str(arguments.threads)], TORCHINDUCTOR_CACHE_DIR=cache)


def check_losses(name, results):
    losses = {peer: result["loss"] for peer, result in results.items()}
    reference = losses[PEERS[0]]
    for peer, loss in losses.items():
        if not math.isclose(loss, reference, rel_tol=LOSS_TOLERANCE):
            raise SystemExit(f"{name}: the loss of {peer} is {loss}, that of {PEERS[0]} {reference}")


def measure(name, arguments):
    row = {"workload": name, "antegrad": run_ours(arguments.program, name, arguments)}
    row["peers"] = {peer: run_peer(peer, name, arguments) for peer in PEERS}
    check_losses(name, row["peers"])
    return row


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def markdown(rows):
    head = ["workload", "first call, s: antegrad", "torch.compile", "JAX", "step, ms: antegrad", "LibTorch eager",
            *PEERS]
    yield "| " + " | ".join(head) + " |"
    yield "| --- " * len(head) + "|"
    for row in rows:
        ours, peers = row["antegrad"], row["peers"]
        first = [f"{number(peers[p]['first_call_s'])} ({number(peers[p]['first_call_s'] / ours['first_call_s'])}×)"
                 for p in PEERS[1:]]
        steps = [ours["eager_step_ms"], *(peers[p]["step_ms"] for p in PEERS)]
        steps = [f"{number(ms)} ({number(ms / ours['step_ms'])}×)" for ms in steps]
        yield "| " + " | ".join([f"`{row['workload']}`", number(ours["first_call_s"]), *first,
                                 number(ours["step_ms"]), *steps]) + " |"
    yield ""
    for peer in PEERS:
        ratios = [row["peers"][peer]["step_ms"] / row["antegrad"]["step_ms"] for row in rows]
        yield f"Steps against {peer}, geometric mean: {number(math.exp(sum(map(math.log, ratios)) / len(ratios)))}×"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="bench_steps")
    parser.add_argument("--workload", action="append", choices=workloads.NAMES, help="only this (may be repeated)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4, help="how long steps are timed")
    parser.add_argument("--json", help="file to write all numbers to")
    arguments = parser.parse_args()
    arguments.threads = limit_cores(arguments.threads)
    rows = []
    for name in arguments.workload or workloads.NAMES:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        rows.append(measure(name, arguments))
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump(rows, file, indent=2)
    print(f"{arguments.threads} threads; in brackets: how many times antegrad's time.\n")
    print("\n".join(markdown(rows)))


if __name__ == "__main__":
    main()
