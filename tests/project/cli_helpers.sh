# Sourced by tests of the command: runs it and checks its output. The caller sets `antegrad`, its path, and may set `group`, a
# subcommand that precedes all arguments.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
group=${group:-}

fail() {
  echo "FAILED: $1"
  sed 's/^/  stdout: /' "$work/out"
  sed 's/^/  stderr: /' "$work/err"
  failures=$((failures + 1))
}

# run EXIT_CODE ARGS...: runs the command and checks its exit status; output goes to $work/out and $work/err
run() {
  local expected=$1
  shift
  what="antegrad${group:+ $group} $*"
  "$antegrad" $group "$@" >"$work/out" 2>"$work/err"
  local actual=$?
  [[ $actual == "$expected" ]] || fail "$what: exit code $actual, expected $expected"
}
out_is() { diff -u "$1" "$work/out" >&2 || fail "$what: standard output differs from $1"; }
out_has() { grep -qF -- "$1" "$work/out" || fail "$what: no \"$1\" on standard output"; }
out_like() { grep -qE -- "$1" "$work/out" || fail "$what: nothing like \"$1\" on standard output"; }
out_lacks() { ! grep -qE -- "$1" "$work/out" || fail "$what: \"$1\" on standard output"; }
err_has() { grep -qF -- "$1" "$work/err" || fail "$what: no \"$1\" on standard error"; }
quiet() { [[ ! -s $work/$1 ]] || fail "$what: std$1 is not empty"; }
lines() { [[ $(wc -l <"$work/out") == "$1" ]] || fail "$what: not $1 lines"; }
# json EXPRESSION: checks a Python expression of `j`, the JSON object on standard output
json() {
  python3 -c 'import json,sys; j=json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$work/out" "$1" ||
    fail "$what: not so: $1"
}
finish() {
  [[ $failures == 0 ]] && echo "all passed" || { echo "$failures failed"; exit 1; }
}
