#!/usr/bin/env bash
# antegrad inside another project: add_subdirectory, and FetchContent from an archive of the working tree. Configures, and
# asks ninja how it would build the program; a real build would compile the library a second time.
set -euo pipefail
source=$1 build=$2 consumer=$3 libtorch=$4 cxx=$5
command -v ninja >/dev/null || { echo "skipped: no ninja"; exit 77; }
work=$build/subproject_test
rm -rf "$work"
mkdir -p "$work"

check() {  # FROM WHERE
  local project=$work/$1
  LIBTORCH=$libtorch cmake -S "$consumer" -B "$project" -G Ninja "-DCMAKE_CXX_COMPILER=$cxx" "-DANTEGRAD_FROM=$1" \
    "-DANTEGRAD_SOURCE=$2" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  ninja -C "$project" -t commands consumer >"$work/log" || { cat "$work/log"; exit 1; }
  grep -q libantegrad.so "$work/log" || { echo "$1: the program is linked without antegrad"; exit 1; }
  if ninja -C "$project" -t targets all | grep -E '_test:|^(demo|train_gpt|bench_steps):'; then
    echo "$1: another project does not ask for tests, examples and benchmarks"
    exit 1
  fi
}

check folder "$source"
tar -czf "$work/antegrad.tar.gz" -C "$source" CMakeLists.txt LICENSE cmake include src
check archive "$work/antegrad.tar.gz"
rm -rf "$work"
