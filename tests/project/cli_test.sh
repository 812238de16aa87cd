#!/usr/bin/env bash
# Tests of the antegrad command: what it prints to which stream, and its exit status.
#   cli_test.sh PATH_OF_ANTEGRAD SOURCE_DIR
set -u
antegrad=$1
source_dir=$2
. "$(dirname "$0")/cli_helpers.sh"

cat >"$work/in.graph" <<'GRAPH'
# comments, blank lines and sparse numbers are valid in input

graph @f functional {
  in %0: f32[4] user "x"
  %1: f32[4] &%0 = aten.alias(%0) at "net" seq 7
  %5: f32[4] = aten.exp(%1)
  %7: f32[4] = aten.sin(%1)
  out %5 user
}
GRAPH
cat >"$work/printed.graph" <<'GRAPH'
graph @f functional {
  in %0: f32[4] user "x"
  %1: f32[4] &%0 = aten.alias(%0) at "net" seq 7
  %2: f32[4] = aten.exp(%1)
  %3: f32[4] = aten.sin(%1)
  out %2 user
}
GRAPH
sed 's/ at "net" seq 7//' "$work/printed.graph" >"$work/compact.graph"
cat >"$work/optimised.graph" <<'GRAPH'
graph @f functional {
  in %0: f32[4] user "x"
  %1: f32[4] = aten.exp(%0)
  out %1 user
}
GRAPH
cat >"$work/no_dead_code.graph" <<'GRAPH'
graph @f functional {
  in %0: f32[4] user "x"
  %1: f32[4] = aten.exp(%0)
  %2: f32[4] = aten.sin(%0)
  out %1 user
}
GRAPH
printf 'graph @f functional {\n  out %%3 user\n}\n' >"$work/undefined.graph"
printf 'graph @f functional {\n  in %%0: f32[4] tangent\n}\n' >"$work/invalid.graph"

# --- print
run 0 print "$work/in.graph"; out_is "$work/printed.graph"; quiet err
run 0 print - <"$work/in.graph"; out_is "$work/printed.graph"
run 0 print "$work/printed.graph"; out_is "$work/printed.graph"
run 0 print --compact "$work/in.graph"; out_is "$work/compact.graph"

# --- opt
run 0 opt --pipeline=functional "$work/in.graph"; out_is "$work/optimised.graph"; quiet err
run 0 opt --pipeline functional --verify - <"$work/in.graph"; out_is "$work/optimised.graph"; quiet err
run 0 opt --pipeline=functional --disable=dead_code,constant_folding "$work/in.graph"; out_is "$work/no_dead_code.graph"
run 0 opt --pass=remove_noop,dead_code "$work/in.graph"; out_is "$work/optimised.graph"
run 0 opt --pass remove_noop,dead_code --disable constant_folding "$work/in.graph"; out_is "$work/optimised.graph"
run 0 opt --pass=remove_noop --pass=dead_code "$work/in.graph"; out_is "$work/optimised.graph"
run 0 opt --pass=constant_folding "$work/in.graph"; out_is "$work/printed.graph"
run 0 opt --pass=remove_noop,dead_code --timing "$work/in.graph"; out_is "$work/optimised.graph"
err_has "remove_noop"; err_has "dead_code"; err_has " ms  changed"
cat >"$work/backward.graph" <<'GRAPH'
graph @b backward {
  in %0: f32[3] tangent
  in %1: f32[3] tangent
  %2: f32[3] = aten.exp(%0) backward for 1
  %3: f32[3] = aten.exp(%1) backward for 2
  out %2 grad 0
  out %3 grad 1
}
GRAPH
run 0 opt --pipeline=before_fusion "$work/in.graph"; out_has "aten.exp"
run 0 opt --pipeline=kept_tensors "$work/in.graph"; out_has "aten.alias"
run 0 opt --verify --pipeline=backward_case "$work/backward.graph"; out_is "$work/backward.graph"
run 0 opt --verify --pipeline=backward_case --unwanted-gradients=0 "$work/backward.graph"; out_has "out none grad 0"
run 0 opt --verify --pipeline=backward_case --undefined-tangents 1 "$work/backward.graph"; out_has "out %2 grad 0"
for golden in "$source_dir"/src/passes/testdata/*/*.graph; do
  pass=$(basename "$(dirname "$golden")")
  sed '/^---$/,$d' "$golden" >"$work/golden_in.graph"
  sed '1,/^---$/d' "$golden" >"$work/golden_out.graph"
  run 0 opt --verify --pass="$pass" "$work/golden_in.graph"; out_is "$work/golden_out.graph"
done

# --- verify, passes, version, help
run 0 verify "$work/in.graph"; quiet out; quiet err
run 0 passes; quiet err
for pass in remove_noop constant_folding common_subexpressions dead_code; do out_has "$pass "; done
run 0 passes --pipelines; quiet err
for pipeline in functional frozen before_fusion backward_case kept_tensors; do out_has "$pipeline "; done
run 0 --version; out_like '^antegrad [0-9]+\.[0-9]+\.[0-9]+ for LibTorch [0-9]+\.[0-9]+\.[0-9]+$'
run 0 --help; for text in print opt verify passes run bench doctor cache "Examples:" "Exit codes:"; do out_has "$text"; done
for command in print opt verify run bench doctor cache; do run 0 $command --help; quiet err; out_like "^Examples?:"; done
for command in verify run bench doctor cache; do run 0 $command --help; out_has "Exit codes:"; done
run 0 opt --help; for option in --pass --pipeline --disable --verify --timing; do out_has "$option"; done

# --- errors of the graph or the file: message on standard error, exit code 1
run 1 print "$work/absent.graph"; quiet out; err_has "antegrad: [cli] cannot open \"$work/absent.graph\": No such file or directory."
run 1 print "$work/undefined.graph"; quiet out; err_has "line 2, column 7"
run 1 print "$work/invalid.graph"; quiet out; err_has "a functional graph has no tangents"
run 1 verify "$work/invalid.graph"; quiet out; err_has "[verify:functional] "
run 1 verify - </dev/null; quiet out; err_has "line 1"
run 2 opt --pass=dead "$work/in.graph"; quiet out; err_has '[passes] there is no pass named "dead". The passes are unread_statistics, remove_noop,'
run 2 opt --pipeline=functional --disable=dead "$work/in.graph"; quiet out; err_has 'no pass named "dead"'
run 1 opt --pass=dead_code --verify "$work/invalid.graph"; quiet out; err_has "[verify:functional] "
if [[ -e /dev/full ]]; then
  what="antegrad print to a full device"
  "$antegrad" print "$work/in.graph" >/dev/full 2>"$work/err"
  [[ $? == 1 ]] || fail "$what: exit code is not 1"
  err_has "cannot write to standard output"
fi

# --- wrong usage: exit code 2
run 2; quiet out
run 2 nonsense; quiet out; err_has 'antegrad: [usage] there is no command "nonsense". See antegrad --help.'
run 2 print; quiet out; err_has "antegrad: [usage:print] FILE is required. See antegrad print --help."
run 2 print --nonsense "$work/in.graph"; quiet out
run 2 opt "$work/in.graph"; quiet out; err_has "--pass or --pipeline"
run 2 opt --pipeline=nonsense "$work/in.graph"; quiet out
err_has 'antegrad: [passes] there is no pipeline named "nonsense". The pipelines are functional, frozen, before_fusion, backward_case, kept_tensors.'
run 2 opt --pipeline=backward_case --undefined-tangents=2 "$work/backward.graph"; quiet out
err_has "antegrad: [usage:opt] there is no tangent 2: the graph has 2. Count from 0."
run 2 opt --pipeline=backward_case --unwanted-gradients=9 "$work/backward.graph"; quiet out; err_has "there is no output 9"
run 2 opt --pass=dead_code --undefined-tangents=0 "$work/backward.graph"; quiet out; err_has "requires --pipeline"
run 2 opt --pipeline "" "$work/in.graph"; quiet out; err_has "the name is empty"
run 2 opt --pipeline=functional --pass=dead_code "$work/in.graph"; quiet out

finish
