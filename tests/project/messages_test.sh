#!/usr/bin/env bash
# Tests the compiler's messages for wrong uses of antegrad: one error each, which says what to write instead. All of them are
# in one source, since compiling LibTorch's headers takes most of the time.
#   messages_test.sh PROJECT LIBTORCH COMPILER
set -u
project=$1 libtorch=$2 compiler=$3
program=$project/tests/project/bad_program.cpp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
arguments="the compiled function cannot be called with these arguments: give as many as it takes"
expected=(
  "$arguments"
  "$arguments"
  "$arguments"
  "antegrad cannot take this type apart: give it \`auto antegrad_fields(T& v)"
  "antegrad does not know how much a pointer points to, or who changes it: pass a tensor, a std::vector"
  "antegrad takes texts as std::string, and arrays as std::vector or std::array"
  "antegrad does not write to the memory of a std::span: pass a std::span<const T>"
  "antegrad takes modules that are shared: pass a holder (TORCH_MODULE) or a std::shared_ptr"
  "antegrad compiles modules that are shared: make it with std::make_shared<Net>()"
  "antegrad watches modules that are shared: make it with std::make_shared<Net>()"
  "antegrad cannot take this type apart"
)

LC_ALL=C "$compiler" -std=c++20 -fsyntax-only "-I$project/include" -isystem "$libtorch/include" \
  -isystem "$libtorch/include/torch/csrc/api/include" "$program" >"$work/out" 2>&1 && { echo "FAILED: it compiles"; exit 1; }
# "LINE MESSAGE" of each error, where LINE is the last line of the program that the compiler named before it.
sed -nE "s|^.*bad_program\.cpp:([0-9]+):[0-9]+:.*required from here$|from \1|p; s|^.*bad_program\.cpp:([0-9]+):[0-9]+: error: (.*)|from \1\nerror \2|p;
         s/^.*error: /error /p" "$work/out" | awk '$1 == "from" { line = $2 } $1 == "error" { sub("error ", ""); print line, $0 }' >"$work/errors"

failures=0
fail() { echo "FAILED: $1"; failures=$((failures + 1)); }
mapfile -t lines < <(grep -n '// wrong$' "$program" | cut -d: -f1)
[[ ${#lines[@]} == "${#expected[@]}" ]] || fail "${#lines[@]} wrong lines, ${#expected[@]} messages"
for i in "${!expected[@]}"; do
  found=$(grep "^${lines[i]} " "$work/errors")
  [[ $found == *"${expected[i]}"* && $(wc -l <<<"$found") == 1 ]] || fail "line ${lines[i]} has: ${found:-no error}; expected: ${expected[i]}"
done
[[ $(wc -l <"$work/errors") == "${#expected[@]}" ]] || { fail "errors elsewhere:"; cat "$work/errors"; }
[[ $failures == 0 ]] && echo "all passed" || { echo "$failures failed"; exit 1; }
