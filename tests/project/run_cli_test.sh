#!/usr/bin/env bash
# Tests of `antegrad run` and `antegrad bench`: what they print and write, and which arguments they refuse.
#   run_cli_test.sh PATH_OF_ANTEGRAD SOURCE_DIR
set -u
antegrad=$1
layer=$2/tests/data/graphs/layer.graph  # the example of docs/command.md
. "$(dirname "$0")/cli_helpers.sh"
for name in $(compgen -e | grep '^ANTEGRAD_'); do unset "$name"; done
export ANTEGRAD_CACHE_DIR=$work/cache
exec </dev/null

cat >"$work/plain.graph" <<'GRAPH'
graph @f functional {
  in %0: f32[4,3] user "x"
  in %1: f32[3] param "w"
  %2: f32[4,3] = aten.mul.Tensor(%0, %1)
  %3: f32[4,3] = aten.exp(%2)
  %4: f32[4] = aten.sum.dim_IntList(%3, [1])
  out %4 user "y"
  out %3 user
  out none user
}
GRAPH
cat >"$work/open.graph" <<'GRAPH'
graph @g functional [s0: 2..64] {
  in %0: f32[s0,3] user "x"
  %1: f32[s0,3] = aten.sin(%0)
  out %1 user "y"
}
GRAPH
cat >"$work/joint.graph" <<'GRAPH'
graph @h joint {
  in %0: f32[5] user "x"
  in %1: f32[5] tangent "t"
  %2: f32[5] = aten.exp(%0)
  %3: f32[5] = aten.sin(%2)
  %4: f32[5] = aten.cos(%2) backward for 1
  %5: f32[5] = aten.mul.Tensor(%1, %4) backward for 1
  %6: f32[5] = aten.mul.Tensor(%5, %2) backward for 1
  out %3 user "y"
  out %6 grad 0
}
GRAPH
cat >"$work/backward.graph" <<'GRAPH'
graph @h backward {
  in %0: f32[4] saved "x"
  in %1: f32[4] tangent "t"
  %2: f32[4] = aten.mul.Tensor(%0, %1) backward for 1
  %3: f32[4] = aten.neg(%1) backward for 1
  out %2 grad 1 "weight"
  out %3 grad 0
}
GRAPH
cat >"$work/random.graph" <<'GRAPH'
graph @r functional {
  in %0: f32[100] user "x"
  %1: f32[100] = aten.bernoulli.p(%0, 0.5) random
  %2: f32[100] = aten.mul.Tensor(%0, %1)
  out %2 user "y"
}
GRAPH
cat >"$work/shapes.graph" <<'GRAPH'
graph @s functional {
  in %0: f32[3,4]{1,3} user "x"
  in %1: f32[5,2]{0,1} user "e"
  in %2: i64[6] user "i"
  in %3: bool[6] user "b"
  in %4: c64[2] user "c"
  in %5: f32[0] user "none"
  in %6: none user "absent"
  %7: f32[3,4]{1,3} = aten.neg(%0)
  %8: f32[5,2] = aten.add.Scalar(%1, 1)
  %9: i64[6] = aten.add.Scalar(%2, 1)
  %10: c64[2] = aten.mul.Scalar(%4, 2)
  out %7 user "x"
  out %8 user "e"
  out %9 user "i"
  out %3 user "b"
  out %10 user "c"
  out %5 user "none"
}
GRAPH
cat >"$work/log.graph" <<'GRAPH'
graph @l functional {
  in %0: f32[200] user "x"
  %1: f32[200] = aten.log(%0)
  out %1 user "y"
}
GRAPH
printf 'graph @t traced {\n  in %%0: f32[2] user "x"\n  aten.add_.Scalar(%%0, 1) writes(%%0)\n  out %%0 user\n}\n' >"$work/writes.graph"

# --- run: every way to run the graph gives the same numbers
run 0 run "$work/plain.graph"; quiet err
out_like "^graph @f functional$"; out_like "^graph: 1 kernel, 0 calls of LibTorch$"
out_like "^output +type +mean +min +max +finite$"; out_like "^y +f32\[4\] .* all$"; out_like "^output1 +f32\[4,3\] .* all$"
out_like "^output2 +none$"
grep -E "^(y|output1) " "$work/out" >"$work/fused"
run 0 run --backend nofuse "$work/plain.graph"; out_like "^graph: [2-9] kernels"
run 0 run --backend eager - <"$work/plain.graph"; out_like "^graph: 0 kernels, 3 calls of LibTorch$"
python3 - "$work/fused" "$work/out" <<'PY' || fail "$what: other numbers than fused"
import sys
rows = [{l.split()[0]: [float(x) for x in l.split()[2:5]] for l in open(f) if l.startswith(("y ", "output1 "))} for f in sys.argv[1:]]
assert rows[0].keys() == rows[1].keys() and len(rows[0]) == 2
assert all(abs(a - b) <= 1e-4 * abs(b) for k in rows[0] for a, b in zip(rows[0][k], rows[1][k]))
PY
ANTEGRAD_BACKEND=eager run 0 run "$work/plain.graph"; out_like "^graph: 0 kernels"
run 0 run --seed 1 "$work/plain.graph"; cp "$work/out" "$work/seed1"
run 0 run --seed 1 --threads 1 "$work/plain.graph"; out_is "$work/seed1"
run 0 run --seed 2 "$work/plain.graph"; ! diff -q "$work/seed1" "$work/out" >/dev/null || fail "$what: the seed does nothing"
[[ -n $(ls -A "$work/cache") ]] || fail "run: nothing is cached"

# --- files of tensors: what was written can be read
run 0 run "$work/plain.graph" --seed 3 --output "$work/y.pt" --print; out_like "^y$"; out_like "CPUFloatType"
[[ -s $work/y.pt && ! -e $work/y.pt.part ]] || fail "$what: no file"
run 0 run "$work/open.graph" --input x=4,3 --seed 5 --output "$work/x.pt"
cat >"$work/copy.graph" <<'GRAPH'
graph @c functional [s0: 2..] {
  in %0: f32[s0,3] user "y"
  %1: f32[s0,3] = aten.mul.Scalar(%0, 1)
  out %1 user "z"
}
GRAPH
sed -n 's/^y  *//p' "$work/out" >"$work/expected"
run 0 run "$work/copy.graph" --input "$work/x.pt"; out_has "graph @c functional s0=4"
sed -n 's/^z  *//p' "$work/out" | diff - "$work/expected" >/dev/null || fail "$what: other numbers came back"
run 0 run "$work/copy.graph" --input y="$work/x.pt"; out_has "s0=4"
run 2 run "$work/plain.graph" --input "$work/x.pt"; quiet out; err_has 'antegrad: [run] the graph has no input "y". Its inputs are x, w.'
run 2 run "$work/copy.graph" --input "$work/y.pt"; err_has "[run]"
run 1 run "$work/plain.graph" --input "$work/absent.pt"; quiet out; err_has "antegrad: [cli] cannot open"
echo nonsense >"$work/bad.pt"
run 1 run "$work/plain.graph" --input "$work/bad.pt"; quiet out; err_has "bad.pt is not a file of tensors"
run 1 run "$work/plain.graph" --output "$work/absent/y.pt"; quiet out; err_has "antegrad: [run] cannot write"
if python3 -c 'import torch' 2>/dev/null; then
  python3 -c 'import sys, torch; torch.save([torch.ones(4, 3), torch.zeros(3)], sys.argv[1])' "$work/python.pt"
  run 0 run "$work/plain.graph" --input "$work/python.pt"; out_like "^y +f32\[4\] +3 +3 +3 +all$"
else
  echo "Python has no torch: files of torch.save are not tried"
fi

# --- sizes
run 2 run "$work/open.graph"; quiet out; err_has "antegrad: [run] the symbol s0 (2..64) has no value. Give it one, for instance --size s0=32."
run 0 run "$work/open.graph" --size s0=8; out_has "graph @g functional s0=8"; out_has "f32[8,3]"
run 0 run "$work/open.graph" --input x=9x3; out_has "f32[9,3]"
sed 's/2..64/2..64 ~ 7/' "$work/open.graph" >"$work/hint.graph"
run 0 run "$work/hint.graph"; out_has "f32[7,3]"
run 2 run "$work/open.graph" --size s0=65; err_has "s0=65 is not in 2..64."
run 2 run "$work/open.graph" --size s1=3; err_has "the graph has no symbol s1. Its symbols are s0 to s0."
run 2 run "$work/plain.graph" --size s0=3; err_has "All its sizes are numbers."
run 2 run "$work/open.graph" --size eight; err_has "--size eight is not of the form SYMBOL=SIZE. Write --size s0=32."
run 2 run "$work/open.graph" --size s0=8 --input x=9,3; err_has "s0 has two values, 8 and 9."
run 2 run "$work/plain.graph" --input x=4,4; err_has 'input "x" has the shape [4,3] in the graph, not [4,4].'
run 2 run "$work/plain.graph" --input x; err_has "--input x is neither a file nor a name with a shape."

# --- joint graphs are partitioned; all kinds of types; random numbers; values that are not finite
run 0 run "$work/joint.graph"; out_like "^forward: 1 kernel"; out_like "^backward: 1 kernel"; out_like "^grad:x +f32\[5\] "
out_like "^y +f32\[5\] "; grep -E "^(y|grad:x) " "$work/out" >"$work/fused"
run 0 run "$work/joint.graph" --backend eager; out_like "^backward: 0 kernels, [2-9] calls"
# the gradients of a backward graph belong to inputs of the forward graph, not to its own
run 0 run "$work/backward.graph"; out_like "^grad:weight +f32\[4\] "; out_like "^grad:input0 +f32\[4\] "; out_lacks "^grad:(x|t) "
run 0 run "$work/shapes.graph"; for output in x e i b c; do out_like "^$output +[a-z0-9]+\[.* all$"; done; out_like "^none +f32\[0\] +- +- +- +all$"
run 0 run "$work/random.graph" --seed 4; cp "$work/out" "$work/drawn"
run 0 run "$work/random.graph" --seed 4; out_is "$work/drawn"
run 0 run "$work/log.graph"; out_like "^y +f32\[200\] .* [0-9]+ of 200$"

run 0 run "$layer" --size s0=16; out_like "^forward: 1 kernel, 0 calls of LibTorch$"; out_like "^grad:weight +f32\[256\] .* all$"

# --- bench
run 0 bench "$layer" --size s0=16 --runs 2 --json
json 'j["symbols"] == [16] and j["eager"]["calls"] == 8 and j["largest_difference"] < 1e-5'
run 0 bench "$work/plain.graph" --runs 5; quiet err
out_like "^graph @f functional, 5 runs of each, [0-9]+ threads?$"; out_like "^fused +[0-9.]+ us +.* to .* +1 +0$"
out_like "^op by op .* 0 +3$"; out_like "^fused is [0-9.]+ times as fast; compiled in "; out_like "^results differ by at most "
run 0 bench "$work/joint.graph" --runs 5 --threads 1 --json; quiet err
json 'j["runs"] == 5 and j["threads"] == 1 and j["stage"] == "joint" and j["fused"]["kernels"] == 2 and j["eager"]["calls"] == 5'
json 'j["fused"]["median_s"] > 0 and j["fused"]["compile_s"] > 0 and j["largest_difference"] < 1e-5'
json 'abs(j["ratio"] - j["eager"]["median_s"] / j["fused"]["median_s"]) < 1e-9'
run 0 bench "$work/open.graph" --size s0=64 --seconds 0 --json; json 'j["runs"] == 5 and j["symbols"] == [64]'
run 0 bench "$work/log.graph" --runs 2 --json; json 'j["largest_difference"] < 1e-5'  # NaN in both counts as equal
run 0 bench "$work/random.graph" --runs 3; out_has "results are not compared: the graph draws random numbers"
ANTEGRAD_CACHE_DIR=$work/cache2 run 0 bench "$work/plain.graph" --runs 2; [[ ! -e $work/cache2 ]] || fail "$what: used the cache"

# --- programs of torch.export
programs=$2/tests/data/pt2
for backend in eager default; do
  run 0 run "$programs/mutation.pt2" --inputs "$programs/mutation.pt2.in" --seed 0 --gradients --json --backend $backend
  json 'abs(j["loss"] - 10.3680706) < 1e-5 and abs(j["gradients"]["p"] - 42.1795461) < 1e-4 and abs(j["buffers"]["b"] - 1.72801173) < 1e-6'
done
run 0 run "$programs/cond.pt2" --inputs "$programs/cond.pt2.in" --gradients --json
json 'abs(j["loss"] - 1.99947953) < 1e-5 and "uncompiled" not in j and all("_local_scalar_dense" in why for why in j["breaks"])'
run 0 run "$programs/dynauto.pt2" --inputs "$programs/dynauto.pt2.in" --json; json 'j["loss"] is None'
run 0 run "$programs/nograd.pt2" --inputs "$programs/nograd.pt2.in" --gradients; out_has "  p 48"
run 0 bench "$programs/nograd.pt2" --inputs "$programs/nograd.pt2.in" --runs 2 --json; json 'j["runs"] == 2 and j["compiled_s"] > 0'
run 0 print "$programs/nograd.pt2"; out_has "wrap_with_set_grad_enabled"
run 0 print "$programs/pair.pt2" --model eval; out_has "program eval of PyTorch"
run 1 print "$programs/pair.pt2"; quiet out; err_has "has 2 programs"
run 0 opt --pipeline functional --verify "$programs/gpt.pt2"; out_has 'param "head.weight"'; out_has '"grad:head.weight"'
run 0 opt --pass dead_code "$programs/pair.pt2" --model eval; out_has "aten."
run 1 opt --pass dead_code "$programs/pair.pt2"; quiet out; err_has "has 2 programs"
run 1 opt --pass dead_code "$programs/cond.pt2"; quiet out; err_has "at node cond"
run 2 run "$programs/nograd.pt2"; quiet out; err_has "the program takes a_0: f32[4, 3]"
echo "1 1 2 3" >"$work/short.in"
run 1 run "$programs/nograd.pt2" --inputs "$work/short.in"; quiet out; err_has "[run:inputs] "

# --- refused
cat >"$work/cholesky.graph" <<'GRAPH'
graph @k functional {
  in %0: f32[3,3] user "x"
  %1: f32[3,3] = aten.linalg_cholesky(%0)
  out %1 user
}
GRAPH
run 1 run "$work/cholesky.graph"; quiet out; err_has "antegrad: [LibTorch] "; [[ $(wc -l <"$work/err") == 1 ]] || fail "$what: not one line"
sed "s/linalg_cholesky/nonsense/" "$work/cholesky.graph" >"$work/nonsense.graph"
run 1 run "$work/nonsense.graph"; quiet out; err_has "antegrad: ["; err_has "aten.nonsense"
run 1 run "$work/writes.graph"; quiet out; err_has "antegrad: [run] the graph is a traced one with writes."
run 1 run "$work/absent.graph"; quiet out; err_has "antegrad: [cli] cannot open"
echo "graph" >"$work/bad.graph"
run 1 bench "$work/bad.graph"; quiet out; err_has "antegrad: [parse] line 2"
ANTEGRAD_BACKEND=fast run 1 run "$work/plain.graph"; quiet out; err_has "antegrad: [options] ANTEGRAD_BACKEND=fast is not eager, nofuse or default."
run 2 run; quiet out; err_has "antegrad: [usage:run] FILE is required."
run 2 run "$work/plain.graph" --backend fast; quiet out; err_has "antegrad: [usage:run] "
run 2 bench "$work/plain.graph" --threads -1; quiet out
for wrong in "--seed -1" "--seed 1e3" "--seed 99999999999999999999" "--threads 5000" "--backend cuda" "--output="; do
  run 2 run "$work/plain.graph" $wrong; quiet out; err_has "[usage:run] ${wrong%%[ =]*}: "
done
for wrong in "--runs -3" "--runs 0" "--runs 1.5" "--seconds -1" "--seconds nan" "--seconds 1e9" "--json=3"; do
  run 2 bench "$work/plain.graph" $wrong; quiet out; err_has "[usage:bench] ${wrong%%[ =]*}"
done
finish
