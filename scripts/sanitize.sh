#!/usr/bin/env bash
# Builds the library and a set of tests with sanitizers, and runs them.
#
#   scripts/sanitize.sh            both of these
#   scripts/sanitize.sh asan       memory and undefined behaviour
#   scripts/sanitize.sh tsan       races
#
# LibTorch is not instrumented. What it does with memory is seen only where it calls malloc and its like, so leaks that begin
# in it are not looked for, and of races what tests/tsan.supp says is left out. ANTEGRAD_FUZZ_COUNT random programs each
# (60). JOBS: compilers at once.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
export ANTEGRAD_FUZZ_COUNT=${ANTEGRAD_FUZZ_COUNT:-60} ANTEGRAD_FUZZ_SEED=${ANTEGRAD_FUZZ_SEED:-1}

memory_tests=(
  schedule_test kernel_source_test expression_test kernel_fuzz_test module_test local_store_test entry_test bundle_test
  arguments_test autograd_memory_test autograd_hooks_test background_compile_test backend_options_test c_api_test
  c_api_errors_test compiled_autograd_test compiled_autograd_key_test compiled_autograd_inline_test
  compiled_autograd_functions_test compiled_autograd_reducer_test cache_functions_test cache_damage_test
  random_failures_test restored_state_test threads_test
)
race_tests=(
  background_test local_store_test compile_all_test background_compile_test threads_test autograd_threads_test
  compiled_autograd_test cache_functions_test
)
fuzz_tests=(fuzz_test gradient_fuzz_test)

prepare() {  # PRESET TEST...
  [[ -f build/$1/build.ninja ]] || cmake --preset "$1"
  cmake --build "build/$1" -j "$jobs" --target "${@:2}"
}
run() {  # PRESET TEST...: as in "make test", with LibTorch's kernels and with generated ones
  local names
  names=$(IFS='|' && echo "${*:2}")
  ctest --test-dir "build/$1" --output-on-failure -R "^($names)(_compiled)?$"
}

status=0
if [[ ${1:-asan} == asan ]]; then
  export ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0:detect_odr_violation=0
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  prepare asan "${memory_tests[@]}" "${fuzz_tests[@]}"
  run asan "${memory_tests[@]}" || status=1
  for test in "${fuzz_tests[@]}"; do
    ANTEGRAD_CACHE=off ANTEGRAD_WRITABLE_INPUTS=1 "build/asan/tests/$test" --gtest_filter='Fresh*.Programs' || status=1
  done
fi
if [[ ${1:-tsan} == tsan ]]; then
  prepare tsan "${race_tests[@]}"
  run tsan "${race_tests[@]}" || status=1
fi
exit "$status"
