#!/usr/bin/env bash
# Tests of the bash completion: what it offers for several partial command lines.
#   completion_test.sh PATH_OF_ANTEGRAD PATH_OF_COMPLETION
set -u
antegrad=$1
. "$(dirname "$0")/cli_helpers.sh"
: >"$work/out"; : >"$work/err"
. "$2" || { echo "FAILED: cannot source $2"; exit 1; }

# offers EXPECTED WORDS...: checks the sorted completions of the last word
offers() {
  local expected=$1 actual
  shift
  COMP_WORDS=("$antegrad" "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _antegrad 2>"$work/err"
  actual=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')
  [[ ${actual% } == "$expected" ]] || fail "antegrad $*: offers \"${actual% }\", expected \"$expected\""
}

mkdir "$work/files" "$work/files/folder"
touch "$work/files/a.graph" "$work/files/b.graph" "$work/files/c.txt" "$work/files/x.pt" "$work/files/y.agc"
cd "$work/files"

complete -p antegrad >/dev/null || fail "nothing is registered"
for command in bench cache doctor opt package passes print run verify; do offers "$command" "$command"; done
offers "package passes print" p
offers "bench list run show sources strip verify" package ""
offers "--isa" package strip --i
offers "clear explain export gc import list show stats verify" cache ""
offers "explain export" cache ex
offers "--compact --help --model -h" print -
offers "--seconds --seed" bench --se
offers "--backend" run --b
offers "--dir" cache list --d
offers "default" run --backend d
offers "eager" run --backend e
offers "dead_code decompose" opt --pass de
offers "backward_case before_fusion" opt --pipeline b
offers "a.graph b.graph folder" run ""
offers "a.graph" bench --seed 1 a
offers "" print c
offers "folder x.pt" run a.graph --input ""
offers "folder" cache list --dir ""
offers "folder y.agc" cache import ""
offers "" run a.graph --size s
offers "--help --json -h" doctor -
finish
