#!/usr/bin/env bash
# Tests of the man page: it has every command and option of the help, and man prints no warning.
#   man_test.sh PATH_OF_ANTEGRAD PATH_OF_PAGE
set -u
antegrad=$1
page=$2
. "$(dirname "$0")/cli_helpers.sh"
: >"$work/out"; : >"$work/err"
sed 's/\\-/-/g; s/\\f[IBRP]//g' "$page" >"$work/page"

# section SECTION COMMAND...: prints the first word of each line in a section of the help
section() {
  local name=$1
  shift
  "$antegrad" "$@" --help | awk -v section="$name" '
    /^[A-Z][A-Za-z ]*:$/ { inside = ($0 == section ":"); next }
    inside && /^  [^ ]/ { n = split($1, names, ","); for (i = 1; i <= n; ++i) print names[i] }'
}

found=0
check() {  # COMMAND...
  local name
  for name in $(section Options "$@"); do
    grep -qE -- "(^|[^-a-z])$name([^-a-z]|$)" "$work/page" || fail "antegrad $*: $name is not on the man page"
    found=$((found + 1))
  done
  for name in $(section Subcommands "$@"); do
    grep -qE -- "antegrad $*${*:+ }$name([^-a-z]|$)" "$work/page" || fail "antegrad $* $name is not on the man page"
    found=$((found + 1))
    check "$@" "$name"
  done
}
check
((found > 60)) || fail "only $found names found in the help"

if command -v man >/dev/null; then
  what="man -l --warnings"
  MANWIDTH=80 LC_ALL=C.UTF-8 man -l --warnings "$page" >"$work/out" 2>"$work/err" || fail "$what: exit code $?"
  quiet err
  out_like "^NAME"
else
  echo "man is not installed: the page is not formatted"
fi
finish
