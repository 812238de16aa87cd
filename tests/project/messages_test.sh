#!/usr/bin/env bash
# What the compiler says of programs that use antegrad wrongly: one error each, which says what to write.
#   messages_test.sh PROJECT LIBTORCH COMPILER
set -u
project=$1 libtorch=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
flags=(-std=c++20 -fsyntax-only "-I$project/include" -isystem "$libtorch/include"
       -isystem "$libtorch/include/torch/csrc/api/include")
# What all of them include, once.
grep '^#include' "$project/tests/project/bad_program.cpp" >"$work/all.h"
"$compiler" "${flags[@]/-fsyntax-only/-w}" -x c++-header "$work/all.h" -o "$work/all.h.gch" || exit 1

# expect CASE [TEXT]: without a text it compiles
expect() {
  "$compiler" "${flags[@]}" -include "$work/all.h" "-DCASE=$1" "$project/tests/project/bad_program.cpp" >"$work/out" 2>&1
  local status=$? errors
  errors=$(grep -cE '(^|[ :])error: ' "$work/out")
  if (($# == 1)); then
    ((status == 0)) && return
  else
    ((status != 0 && errors == 1)) && grep -F 'error: ' "$work/out" | grep -qF "$2" && return
  fi
  echo "FAILED: case $1: $errors errors, expected ${2:-none}"
  grep -E 'error' "$work/out" | head -5
  failures=$((failures + 1))
}

expect 0
for case in 1 2 3; do expect $case "the compiled function cannot be called with these arguments: give as many as it takes"; done
expect 4 "antegrad cannot take this type apart: give it \`auto antegrad_fields(T& v)"
expect 5 "antegrad does not know how much a pointer points to, or who changes it: pass a tensor, a std::vector"
expect 6 "antegrad takes texts as std::string, and arrays as std::vector or std::array"
expect 7 "antegrad takes no module as an argument or a result: let the function capture it and name it in Options::watch"
expect 8 "antegrad compiles modules that are shared: make it with std::make_shared<Net>()"
expect 9 "antegrad watches modules that are shared: make it with std::make_shared<Net>()"
expect 10 "antegrad cannot take this type apart"
[[ $failures == 0 ]] && echo "all passed" || { echo "$failures failed"; exit 1; }
