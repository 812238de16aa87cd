#!/usr/bin/env bash
# Measures PyTorch, JAX and antegrad on the same workloads, on the CPU with two threads. Installs the peers if they are missing.
#
#   scripts/bench_peers.sh BENCH_STEPS WARM_START [options of benchmarks/peers/compare.py]
#   ANTEGRAD_PEERS=/path        where the peers are installed (default: .peers in the project; about 6 GB)
#   DEVICE=cuda                 on a CUDA device, with sizes for a large one, and the torch and JAX that python3 has
#
# Packages come from the sources that apt and pip are configured for. The CPU wheel of torch has a tenth of the size of the
# CUDA wheel: to get it, configure an index that has it (PIP_INDEX_URL, PIP_FIND_LINKS or pip.conf).
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1
[[ ${DEVICE:-cpu} != cuda ]] || exec python3 benchmarks/peers/compare.py --device cuda "$@"

torch_version=2.11.0   # the version of LibTorch that antegrad is built with
jax_version=0.10.2
peers=${ANTEGRAD_PEERS:-$PWD/.peers}
python=$peers/venv/bin/python

say() { printf 'bench-peers: %s\n' "$*" >&2; }

# torch.compile needs a C++ compiler and Python's headers.
missing=()
command -v g++ >/dev/null || missing+=(g++)
python3 -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  missing+=(python3-dev)
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
if ((${#missing[@]})); then
  if ((EUID == 0)) && command -v apt-get >/dev/null; then
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  else
    say "missing: ${missing[*]}; install them (as root: apt-get install ${missing[*]}) and run this again"
    exit 1
  fi
fi

has() { "$python" -c "import importlib.metadata as m, sys; sys.exit(m.version('$1').split('+')[0] != '$2')" 2>/dev/null; }
[[ -x $python ]] || python3 -m venv "$peers/venv"
pip=("$python" -m pip install -q --disable-pip-version-check --no-cache-dir)
has torch "$torch_version" || { say "installing torch $torch_version"; "${pip[@]}" "torch==$torch_version"; }
has jax "$jax_version" || { say "installing jax $jax_version"; "${pip[@]}" "jax[cpu]==$jax_version"; }

exec "$python" benchmarks/peers/compare.py "$@"
