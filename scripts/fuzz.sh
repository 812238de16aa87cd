#!/usr/bin/env bash
# Runs random programs of all families against eager LibTorch, with seeds that no test uses.
#
#   FUZZ_SECONDS=600     how long (the last round is completed)
#   FUZZ_PROGRAMS=0      the least number of programs; if set, FUZZ_SECONDS is ignored
#   FUZZ_SEED=           the first seed; random by default, and printed
#   FUZZ_PRINTED=static  the family whose printed programs are compiled as a test: static, kept, gradient, fusion, dynamic
#   BUILD=build/release  where the tests are
#
# A program that differs from eager is shrunk and written to build/fuzz as a self-contained C++ program. At the end the script
# prints the number of programs per family. The families run with LibTorch's kernels (eager), where results are compared bit
# for bit and thousands of programs take a minute, and with generated code (compiled), whose kernels must be compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
seconds=${FUZZ_SECONDS:-600} wanted=${FUZZ_PROGRAMS:-0}
seed=${FUZZ_SEED:-$((RANDOM * 32768 + RANDOM))}
out=build/fuzz
mkdir -p "$out"
log=$out/log.txt
: >"$log"
export ANTEGRAD_FUZZ_SAVE=$PWD/$out ANTEGRAD_WRITABLE_INPUTS=1 TMPDIR=${TMPDIR:-$PWD/$out}
echo "seeds from $seed; programs that fail: $out"

status=0
run() {  # KERNELS TEST COUNT FILTER
  local variables=(ANTEGRAD_FUZZ_SEED="$seed" ANTEGRAD_FUZZ_COUNT="$3" ANTEGRAD_FUZZ_KERNELS="$3")
  [[ $1 == eager ]] && variables+=(ANTEGRAD_BACKEND=eager)
  if ! env "${variables[@]}" "$build/tests/$2" --gtest_filter="$4" >"$out/last.txt" 2>&1; then
    status=1
    echo "seed $seed, $2 ($1) failed:"
    grep -v '^\[\|^Note' "$out/last.txt" | head -n 200 | tee -a "$out/failures.txt"
  fi
  sed -n "s/^checked \([a-z_]*\) \([0-9]*\) programs, \([0-9]*\) failures/$1 \1 \2 \3/p" "$out/last.txt" >>"$log"
}

# Checks that a printed program compiles by itself and reports no difference if there is none.
try_printed() {  # FAMILY
  local libtorch=${LIBTORCH:-.deps/libtorch} file
  ANTEGRAD_BACKEND=eager "$build/tests/script_test" --gtest_filter='FreshScript.*' >/dev/null
  for file in "$out"/printed_"$1"_*.cpp; do
    "${CXX:-c++}" -std=c++20 -I"$libtorch/include" -I"$libtorch/include/torch/csrc/api/include" -Iinclude "$file" -o "$out/printed" \
      -L"$build/src" -lantegrad -L"$libtorch/lib" -Wl,--no-as-needed -ltorch_cpu -lc10 \
      -Wl,-rpath,"$PWD/$build/src:$(realpath "$libtorch")/lib"
    "$out/printed"
  done
}
if ! try_printed "${FUZZ_PRINTED:-static}"; then
  status=1
  echo "a printed program does not compile or differs"
fi

total() { awk '{ n += $3 } END { print n + 0 }' "$log"; }
end=$((SECONDS + seconds))
while true; do
  run eager fuzz_test 400 'FreshFuzz.*'
  run eager gradient_fuzz_test 400 'FreshGradientFuzz.*'
  run eager dynamic_fuzz_test 40 'FreshDynamicFuzz.*'
  run eager number_fuzz_test 200 'FreshNumberFuzz.*'
  run eager region_fuzz_test 200 'FreshRegionFuzz.*'
  run compiled fuzz_test 12 'FreshFuzz.*'
  run compiled gradient_fuzz_test 12 'FreshGradientFuzz.*'
  run compiled dynamic_fuzz_test 8 'FreshDynamicFuzz.*'
  run compiled number_fuzz_test 6 'FreshNumberFuzz.*'
  run compiled region_fuzz_test 6 'FreshRegionFuzz.*'
  run compiled fusion_fuzz_test 48 'FreshFusionFuzz.*'
  run compiled kernel_fuzz_test 80 '*'
  run compiled cuda_emulation_test 60 '*RandomKernels'
  run eager optimizer_fuzz_test 200 'FreshOptimizerFuzz.*'
  run compiled optimizer_fuzz_test 200 'FreshOptimizerFuzz.*'
  run eager whole_step_fuzz_test 100 'FreshWholeStepFuzz.*'
  run compiled whole_step_fuzz_test 12 'FreshWholeStepFuzz.*'
  seed=$((seed + 400))
  if ((wanted > 0)); then
    (($(total) < wanted)) || break
  else
    ((SECONDS < end)) || break
  fi
done
awk '{ n[$2 " (" $1 ")"] += $3; f[$2 " (" $1 ")"] += $4; all += $3 }
     END { for (k in n) print n[k], k ", failures:", f[k]; print all, "programs" }' "$log" | sort -k2
exit "$status"
