#!/usr/bin/env bash
# Runs what takes too long for "make test": the suite with sanitizers, fresh random programs of every family, all ops with
# all awkward numbers, and processes that exit, fork, are killed or run out of memory, 200 times each. Prints results; exit
# status 1 if anything failed.
#
# FUZZ_SECONDS: time for random programs (3600). RUNS: runs of each process (200). JOBS: as for scripts/sanitize.sh.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
status=0

[[ -f build/release/build.ninja ]] || cmake --preset release || exit 1
cmake --build build/release -j "$jobs" || exit 1
export TMPDIR=$PWD/build/release/tmp ANTEGRAD_CACHE=off OMP_WAIT_POLICY=passive
mkdir -p "$TMPDIR"
for kind in exit fork memory; do
  bash tests/fault/process_faults.sh build/release/tests/process_faults "$kind" "${RUNS:-200}" || status=1
done
env -u ANTEGRAD_CACHE ANTEGRAD_TEST_KILLS="${RUNS:-200}" build/release/tests/cache_processes_test --gtest_brief=1 || status=1
ANTEGRAD_WRITABLE_INPUTS=1 build/release/tests/awkward_numbers_test --gtest_brief=1 --gtest_also_run_disabled_tests \
  --gtest_filter='*.DISABLED_OfTensorsAndAll*' || status=1
FUZZ_SECONDS=${FUZZ_SECONDS:-3600} BUILD=build/release scripts/fuzz.sh || status=1
scripts/sanitize.sh || status=1
exit "$status"
