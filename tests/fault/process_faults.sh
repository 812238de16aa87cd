#!/usr/bin/env bash
# process_faults.sh PROGRAM exit|fork|memory [RUNS]: runs the programs of process_faults.h, each RUNS times with different
# delays or limits. A process fails if it crashes, hangs or reports an error.
set -uo pipefail
program=$1 kind=$2 runs=${3:-3}
failures=0
try() {  # NAME NUMBER
  local output status
  output=$(timeout -k 5 300 "$program" "$kind" "$1" "$2" 2>&1)
  status=$?
  [[ -n $output && $kind == memory ]] && echo "$output"
  if ((status != 0)); then
    echo "$kind $1 $2: status $status: $output"
    failures=$((failures + 1))
  fi
}
case $kind in
  exit)
    names=(static_function_in_background local_functions_in_background detached_thread joined_by_a_static
           calls_from_a_static main_thread_ends exit_in_another_thread)
    for name in "${names[@]}"; do
      for ((i = 0; i < runs; i++)); do try "$name" $((i * 67 % 400)); done
      echo "$name: $runs runs"
    done ;;
  fork)
    for threads in 1 4; do
      export OMP_NUM_THREADS=$threads  # LibTorch joins threads of at::set_num_threads(), in children too
      for ((i = 0; i < (runs + 2) / 3; i++)); do try "with_${threads}_threads" 2; done
      echo "$threads threads: $(((runs + 2) / 3)) runs of 8 children"
    done ;;
  memory)
    for ((mb = 20; mb <= 1500; mb += mb < 400 ? (runs < 400 ? 400 / runs : 1) : 300)); do try limit "$mb"; done ;;
esac
echo "$failures failures"
((failures == 0))
