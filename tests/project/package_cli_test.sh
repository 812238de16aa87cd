#!/usr/bin/env bash
# Tests of `antegrad package`: what it prints, and which files it refuses.
#   package_cli_test.sh PATH_OF_ANTEGRAD SOURCE_DIR
set -u
antegrad=$1
file=$2/tests/data/packages/format_1.pt2
. "$(dirname "$0")/cli_helpers.sh"
for name in $(compgen -e | grep '^ANTEGRAD_'); do unset "$name"; done
export ANTEGRAD_CACHE_DIR=$work/cache
exec </dev/null

run 0 package list "$file"
out_like '^f\(tensor\) -> tensor$'
out_like '^weight bias$'
run 0 package show "$file"
out_like '^format 1, antegrad '
out_like 'kernels for baseline'
out_like '^metadata made for: tests$'
out_like 'tensor 0 is Float\[s0, 4\], requires a gradient'
out_like 's0 is in \[2, 64\]'
out_like '^weight weight: Float\[4, 3\], requires a gradient$'
run 0 package verify "$file"
out_like '^good$'
run 0 package run "$file" f --strict --gradients --seed 3
out_like '^0 +Float'
out_like '^weight +[0-9]'
out_like "version 0 of 'f', backward pass: [0-9]+ kernels for baseline of the file"
cp "$work/out" "$work/strict"
run 0 package run "$file" f --ir-only --gradients --seed 3
out_like "forward pass: compiled anew, because no code of the file is used"
run 0 package bench "$file" --strict --seconds 0.05
out_like '^call and backward +'

run 0 package strip "$file" --output "$work/bare.pt2"
run 1 package run "$work/bare.pt2" --strict
err_has 'would have to be compiled: the file has no kernels for'
run 0 package run "$work/bare.pt2" --gradients --seed 3
out_like 'compiled anew'
run 0 package strip "$file" --isa baseline --output "$work/same.pt2"
run 0 package run "$work/same.pt2" f --strict --gradients --seed 3
cmp -s "$work/out" "$work/strict" || fail "a stripped package gives other results"

run 1 package strip "$file" --isa avx2 --output "$work/none.pt2"
err_has 'has no kernels for avx2, but for baseline'

run 1 package run "$file" g
err_has 'has no function "g"'
run 1 package list "$work/missing.pt2"
err_has 'cannot read'
head -c 3000 "$file" >"$work/cut.pt2"
run 1 package verify "$work/cut.pt2"
run 1 package list "$file" --key-file "$file"
run 2 package
run 2 package strip "$file"
run 2 package strip "$file" --isa sse --output "$work/x"
finish
