#!/usr/bin/env bash
# Packs the tests of the label `cuda` and the benchmarks into a folder that runs on a machine with a CUDA device and a LibTorch
# for CUDA, but without this project's sources, compilers or a network:
#
#   scripts/carry_cuda_tests.sh BUILD FOLDER       BUILD: build/release
#   LIBTORCH=/path/to/torch FOLDER/run.sh [tests|fuzz|bench|peers]...   there; LIBTORCH defaults to the torch of python3
set -euo pipefail
build=$1 folder=$2
cd "$(dirname "$0")/.."
mkdir -p "$folder/bin" "$folder/lib"
# A test is a program under another name. Links may not survive the journey: run.sh makes them.
names=("$build"/tests/{cuda_functions,cuda_runtime,cuda_steps,workloads,fusion_fuzz,gradient_fuzz,dynamic_fuzz,optimizer_fuzz}_test "$build"/benchmarks/{bench_steps,bench_kernels,bench_optimizers,warm_start})
for name in "${names[@]}"; do
  program=$(readlink -f "$name")
  [[ -e $folder/bin/$(basename "$program") ]] || strip -o "$folder/bin/$(basename "$program")" "$program"
  echo "$(basename "$name") $(basename "$program")"
done | grep -vE '^(.*) \1$' >"$folder/bin/links"
strip --strip-unneeded -o "$folder/lib/libantegrad_internals.so" "$build/src/libantegrad_internals.so"
# Libraries that a machine may lack or have in another version.
ldd "$build/src/libantegrad_internals.so" "$build"/benchmarks/bench_steps | awk '/lib(fmt|hiredis|ssl|crypto|benchmark)\./ {print $3}' | sort -u |
  xargs -I{} cp -L {} "$folder/lib/"
cp scripts/run_cuda_tests.sh "$folder/run.sh"
cp -r benchmarks/peers "$folder/"
chmod +x "$folder/run.sh"
du -sh "$folder"
