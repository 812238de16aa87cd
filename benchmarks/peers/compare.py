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
# Weights and inputs are the same, so losses must be; dropout differs, but mem's loss is a mean of many numbers.
LOSS_TOLERANCE = {"cpu": 5e-3, "cuda": 2e-2}  # products in TF32 and bf16


def limit_cores(count):
    """Limits the cores, since JAX uses as many threads as there are cores."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:count])
    return min(count, len(cores))


def run_json(command, **environment):
    result = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout.strip().splitlines()[-1])


def run_ours(program, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        subprocess.run([program, *options, "--json", path], stdout=subprocess.DEVNULL, check=True)
        with open(path, encoding="utf-8") as file:
            return json.load(file)[0]


def peer_command(peer, name, arguments, seconds):
    if peer == "JAX":
        return [sys.executable, os.path.join(HERE, "jax_peer.py"), name, "--seconds", str(seconds),
                "--device", arguments.device]
    mode = "compile" if peer == "torch.compile" else "eager"
    return [sys.executable, os.path.join(HERE, "torch_peer.py"), name, mode, "--seconds", str(seconds),
            "--threads", str(arguments.threads), "--device", arguments.device]


def run_peer(peer, name, arguments):
    """Runs a peer twice with one cache on disk: the first process fills it, so the first call of the second is warm."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {"TORCHINDUCTOR_CACHE_DIR": cache, "JAX_COMPILATION_CACHE_DIR": cache,
                       "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                       "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
        result = run_json(peer_command(peer, name, arguments, arguments.seconds), **environment)
        again = run_json(peer_command(peer, name, arguments, 0), **environment)
        return {**result, "warm_first_call_s": again["first_call_s"]}


def check_losses(name, results, tolerance):
    losses = {peer: result["loss"] for peer, result in results.items()}
    reference = losses[PEERS[0]]
    for peer, loss in losses.items():
        if not math.isclose(loss, reference, rel_tol=tolerance):
            raise SystemExit(f"{name}: the loss of {peer} is {loss}, that of {PEERS[0]} {reference}")


def measure(name, arguments):
    options = ["--workload", name, "--threads", str(arguments.threads), "--device", arguments.device]
    row = {"workload": name, "antegrad": run_ours(arguments.program, *options, "--seconds", str(arguments.seconds))}
    row["antegrad"]["start"] = run_ours(arguments.warm_start, *options)
    row["peers"] = {peer: run_peer(peer, name, arguments) for peer in PEERS}
    check_losses(name, row["peers"], LOSS_TOLERANCE[arguments.device])
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


def markdown_of_starts(rows):
    """First calls with a filled cache; for the peers whole steps, which they compile as one."""
    head = ["workload", "antegrad: call, ms", "step, ms", *(f"{peer}: step, ms" for peer in PEERS[1:])]
    yield "| " + " | ".join(head) + " |"
    yield "| --- " * len(head) + "|"
    for row in rows:
        ours = row["antegrad"]["start"]
        peers = [row["peers"][peer]["warm_first_call_s"] for peer in PEERS[1:]]
        peers = [f"{number(s * 1e3)} ({number(s / ours['warm_s'])}×, {number(s / ours['warm_step_s'])}×)" for s in peers]
        yield "| " + " | ".join([f"`{row['workload']}`", number(ours["warm_s"] * 1e3), number(ours["warm_step_s"] * 1e3),
                                 *peers]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="bench_steps")
    parser.add_argument("warm_start", help="warm_start")
    parser.add_argument("--workload", action="append", choices=workloads.NAMES, help="only this (may be repeated)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, help="default: 2, and with --device cuda one per core")
    parser.add_argument("--seconds", type=float, default=4, help="how long steps are timed")
    parser.add_argument("--json", help="file to write all numbers to")
    arguments = parser.parse_args()
    arguments.threads = limit_cores(arguments.threads or (2 if arguments.device == "cpu" else os.cpu_count()))
    rows = []
    for name in arguments.workload or workloads.NAMES:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        rows.append(measure(name, arguments))
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump(rows, file, indent=2)
    print(f"{arguments.device}, {arguments.threads} threads; in brackets: how many times antegrad's time.\n")
    print("\n".join(markdown(rows)))
    print("\nFirst call of a new process with a filled cache; in brackets: how many times antegrad's call, and step.\n")
    print("\n".join(markdown_of_starts(rows)))


if __name__ == "__main__":
    main()
