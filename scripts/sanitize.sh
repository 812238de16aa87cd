#!/usr/bin/env bash
# Builds the library and the tests with sanitizers, and runs them in parts.
#
#   scripts/sanitize.sh                  both of the following
#   scripts/sanitize.sh asan [PART...]   memory and undefined behaviour: graph fault error cache cpu fuzz, or some of them
#   scripts/sanitize.sh tsan [PART...]   races: the tests with threads of graph fault error cache cpu
#
# Each part is built, run and reported before the next, so that an interrupted run has results. LibTorch is not instrumented:
# sanitizers see its memory accesses only in calls of malloc and the like. So leaks are not detected, and tests/tsan.supp
# suppresses some races. ANTEGRAD_FUZZ_COUNT: random programs per test (60). JOBS: parallel compilers and tests. Exit status 1
# if a part failed; build/PRESET/sanitize-PART.log has its output.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
export ANTEGRAD_FUZZ_COUNT=${ANTEGRAD_FUZZ_COUNT:-60} ANTEGRAD_FUZZ_SEED=${ANTEGRAD_FUZZ_SEED:-1}
export ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0:detect_odr_violation=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# Prints the names of tests that start threads, and of those of code that does. TSan cannot follow threads into children of fork().
with_threads() {
  grep -rlE 'std::(thread|async|jthread)|Compile::Background' src tests --include='*_test.cpp' | sed -E 's|.*/||; s|\.cpp$||'
  printf '%s\n' compile_all_test cache_functions_test 'redis_.*_test' process_exit_test 'data_parallel_.*test' sharded_state_test
}
threaded="^($(with_threads | grep -v '^cuda_' | sort -u | paste -sd'|'))(_compiled)?\$"
status=0

targets() {  # PRESET PART: prints what to build for a part; with TSan, only tests that have threads
  if [[ $1 == tsan ]]; then
    ctest --test-dir build/tsan -N -L "^$2\$" -R "$threaded" | sed -nE 's/.*: (.*_test)(_compiled)?$/\1/p' |
      sed -E 's/^process_exit_test$/process_faults/' | sort -u
    return
  fi
  # Tests with LibTorch of all groups are joined in the same programs.
  local joined=torch
  [[ $2 == graph || $2 == fault ]] && joined=$2
  ninja -C "build/$1" -t targets all | sed -nE "s/^(${joined}_tests_[0-9]+): .*/\1/p" | sort -u
  case $2 in
    cpu) printf '%s\n' workloads_test nn_tests ;;
    fault) echo process_faults ;;
    graph) echo report_tests ;;
  esac
}
part() {  # PRESET PART CTEST_ARGUMENT...
  local log=build/$1/sanitize-$2.log
  mapfile -t programs < <(targets "$1" "$2")
  echo "$1 $2: ${#programs[@]} programs"
  if cmake --build "build/$1" -j "$jobs" --target "${programs[@]}" >"$log" 2>&1 &&
    ctest --test-dir "build/$1" -j "$jobs" --output-on-failure -L "^$2\$" "${@:3}" >>"$log" 2>&1; then
    echo "$1 $2: $(grep -E 'tests passed' "$log")"
  else
    echo "$1 $2: FAILED, see $log: $(grep -E 'tests passed|FAILED:' "$log" | head -3)"
    status=1
  fi
}
prepare() {  # PRESET CMAKE_ARGUMENT...
  [[ -f build/$1/build.ninja ]] || cmake --preset "$@" >/dev/null
}

which=${1:-both}
[[ $# -gt 0 ]] && shift
if [[ $which != tsan ]]; then
  prepare asan
  for one in "${@:-graph fault error cache cpu fuzz}"; do
    for name in $one; do part asan "$name"; done
  done
fi
if [[ $which != asan ]]; then
  prepare tsan -DANTEGRAD_TESTS_PER_SOURCE=1  # few of the tests have threads
  for one in "${@:-graph fault error cache cpu}"; do
    for name in $one; do part tsan "$name" -R "$threaded"; done
  done
fi
exit "$status"
