#!/usr/bin/env bash
# Runs the ```sh blocks of README.md and docs/*.md that follow a line <!-- shell -->: each in an empty folder, with the
# command on the path and a small cache to inspect. Every command of a block must succeed.
#
#   shell.sh ANTEGRAD CACHE_SAMPLE ROOT
set -u
antegrad=$(realpath "$1") sample=$(realpath "$2") root=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$antegrad" "$work/bin/antegrad"
export PATH="$work/bin:$PATH"
failures=0 blocks=0

for page in "$root"/README.md "$root"/docs/*.md; do
  rm -rf "$work/blocks"
  mkdir "$work/blocks"
  awk -v out="$work/blocks/" '
    inside && /^```/ { inside = 0; next }
    inside { print > (out "block" count ".sh"); next }
    marked && /^```sh/ { inside = 1; ++count }
    { marked = /^<!-- shell -->/ }' "$page"
  for block in "$work"/blocks/*.sh; do
    [[ -e $block ]] || continue
    rm -rf "$work/run" "$work/cache"
    mkdir "$work/run"
    "$sample" "$work/cache" >/dev/null || { echo "the sample cache cannot be made"; exit 1; }
    blocks=$((blocks + 1))
    (cd "$work/run" && ANTEGRAD_CACHE_DIR="$work/cache" bash -eu -o pipefail "$block") >"$work/out" 2>&1 && continue
    failures=$((failures + 1))
    echo "${page#"$root"/}: this block does not run:"
    cat "$block" "$work/out"
  done
done
((blocks > 0)) || { echo "no blocks found"; exit 1; }
[[ $failures == 0 ]] && echo "$blocks blocks ran" || exit 1
