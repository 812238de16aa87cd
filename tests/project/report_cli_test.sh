#!/usr/bin/env bash
# Tests of `antegrad report`: what it writes where, and its exit status.
#   report_cli_test.sh PATH_OF_ANTEGRAD
set -u
antegrad=$1
group=report
. "$(dirname "$0")/cli_helpers.sh"
has() { grep -qF -- "$2" "$work/$1" || fail "$what: no \"$2\" in $1"; }

mkdir "$work/trace" "$work/none"
cat >"$work/trace/trace-7.jsonl" <<'TRACE'
{"e":"process","t":0,"format":1,"pid":7,"program":"p","unix_us":1700000000000000}
{"e":"begin","t":5,"tid":1,"id":1,"name":"make a version","f":1,"v":1}
{"e":"end","t":9,"tid":1,"id":1}
TRACE

run 0 "$work/trace"; has out "$work/trace/report.html"; has trace/report.html 'make a version'
run 0 "$work/trace" -o "$work/page.html"; has out "$work/page.html"; [[ -s $work/page.html ]] || fail "no page"
rm "$work/trace/report.html"
run 0 "$work/trace" --chrome-trace "$work/chrome.json"; has out "$work/chrome.json"; has chrome.json '"traceEvents"'
[[ ! -e $work/trace/report.html ]] || fail "a page that nobody asked for"
run 0 "$work/trace/trace-7.jsonl"; has out "$work/trace/report.html"

run 1 "$work/none"; has err "has no trace-*.jsonl. Run a program with ANTEGRAD_TRACE"
run 1 "$work/missing"; has err "cannot read"
run 1 "$work/trace" -o "$work/missing/page.html"; has err "cannot write"
if [[ -e /dev/full ]]; then run 1 "$work/trace" -o /dev/full; has err "cannot write"; fi
echo nonsense >"$work/nonsense.jsonl"; : >"$work/empty.jsonl"
for file in nonsense empty; do run 1 "$work/$file.jsonl"; has err "$file.jsonl\" has no event of a trace. Run a program with ANTEGRAD_TRACE"; done
run 2
run 2 "$work/trace" --nonsense
run 2 "$work/trace" -o ""; has err "the name is empty"

# a run that crashed: the first line announces a last line, which is missing
mkdir "$work/died"
echo '{"e":"process","t":0,"format":1,"pid":8,"closes":true,"program":"p","unix_us":1700000000000000}' >"$work/died/trace-8.jsonl"
run 0 "$work/died"; has err "trace-8.jsonl: the run ended without closing its trace, or has not ended yet"
has died/report.html "ended without closing"
echo '{"e":"closed","t":9}' >>"$work/died/trace-8.jsonl"
run 0 "$work/died"; quiet err

[[ $failures == 0 ]] && echo "all passed" || { echo "$failures failed"; exit 1; }
