#!/usr/bin/env bash
# Runs what scripts/carry_cuda_tests.sh packed: run.sh [tests|fuzz|bench|peers]... (default: the first three). Every test is a process of its own,
# since an error of a kernel may end the use of the device in its process. Goes on after failures; the status says whether there were any.
cd "$(dirname "$0")"
torch=${LIBTORCH:-$(python3 -c 'import os, importlib.util as u; print(os.path.dirname(u.find_spec("torch").origin))')}
path=$PWD/lib:$torch/lib
for folder in "$torch"/../nvidia/*/lib; do path=$path:$folder; done
export LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ANTEGRAD_CACHE_DIR=$PWD/cache
what=${*:-tests fuzz bench}
while read -r name program; do
  chmod +x "bin/$program" && ln -sf "$program" "bin/$name"
done <bin/links
mkdir -p logs
failed=0

# one PROGRAM TEST: prints "ok", "skipped" or "FAILED" and keeps the log.
one() {
  local log=logs/$1.$2.log status=0
  timeout "${SECONDS_PER_TEST:-120}" "bin/$1" --gtest_filter="$2" >"$log" 2>&1 || status=$?
  case $status in
    0) echo "ok $1 $2" ;;
    77) echo "skipped $1 $2" ;;
    *) echo "FAILED $1 $2 (status $status)"; grep -vE '^\[ +(RUN|OK|PASSED)|^Note:|^\[[-=]+\]|^$' "$log" | cut -c1-400 | head -"${LINES_PER_FAILURE:-12}" ;;
  esac
}
export -f one

if [[ $what == *tests* ]]; then
  for program in bin/cuda_*_test; do
    "$program" --gtest_list_tests | awk -v program="$(basename "$program")" '/^[^ ]/ {suite = $1; next} {print program, suite $1}'
  done | xargs -P "${PROCESSES:-4}" -L 1 bash -c 'one "$0" "$1"' | tee tests.txt
  ! grep -q ^FAILED tests.txt || failed=1
  echo "tests: $(grep -c ^ok tests.txt) ok, $(grep -c ^FAILED tests.txt) failed, $(grep -c ^skipped tests.txt) skipped"
fi
if [[ $what == *fuzz* ]]; then
  export ANTEGRAD_TEST_DEVICE=cuda ANTEGRAD_CUDA_KERNELS=1 ANTEGRAD_WRITABLE_INPUTS=1 ANTEGRAD_FUZZ_SEED=${ANTEGRAD_FUZZ_SEED:-0}
  one workloads_test '*'
  export ANTEGRAD_FUZZ_COUNT=${ANTEGRAD_FUZZ_COUNT:-200}
  for family in fusion gradient dynamic optimizer; do
    "bin/${family}_fuzz_test" --gtest_list_tests | awk -v program="${family}_fuzz_test" '/^[^ ]/ {suite = $1; next} suite ~ /^Fresh/ {print program, suite $1}'
  done | grep -v Background | SECONDS_PER_TEST=${SECONDS_PER_FUZZ:-200} LINES_PER_FAILURE=40 xargs -P "${PROCESSES:-4}" -L 1 bash -c 'one "$0" "$1"' | tee fuzz.txt
  ANTEGRAD_TEST_COMPILED_AUTOGRAD=1 ANTEGRAD_FUZZ_SEED=$((ANTEGRAD_FUZZ_SEED + 4000)) SECONDS_PER_TEST=${SECONDS_PER_FUZZ:-200} \
    one gradient_fuzz_test 'FreshGradientFuzz.*-*Background*' | sed 's/$/ with compiled autograd/' | tee -a fuzz.txt
  ! grep -q ^FAILED fuzz.txt || failed=1
  cat logs/*_fuzz_test.*.log | grep ^checked
  unset ANTEGRAD_TEST_DEVICE ANTEGRAD_CUDA_KERNELS
fi
if [[ $what == *bench* ]]; then
  bin/bench_steps --device cuda --seconds "${BENCH_SECONDS:-2}" --first-calls 1 --json steps.json || failed=1
  bin/bench_steps --device cuda --whole --seconds "${BENCH_SECONDS:-2}" --first-calls 1 --json whole_steps.json || failed=1
  bin/bench_kernels --device cuda --seconds "${KERNEL_SECONDS:-0.3}" || failed=1
  bin/bench_optimizers --device cuda --seconds "${BENCH_SECONDS:-2}" || failed=1
  bin/warm_start --device cuda --repeats 3 --json warm.json || failed=1
fi
if [[ $what == *peers* ]]; then
  for name in bench_steps warm_start; do
    printf '#!/usr/bin/env bash\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$LD_LIBRARY_PATH" "$PWD/bin/$name" >"bin/$name.sh"
    chmod +x "bin/$name.sh"
  done
  # Libraries that were carried are not for Python.
  env -u LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1 python3 peers/compare.py "$PWD/bin/bench_steps.sh" "$PWD/bin/warm_start.sh" \
    --device cuda --seconds "${BENCH_SECONDS:-2}" --json peers.json || failed=1
fi
exit $failed
