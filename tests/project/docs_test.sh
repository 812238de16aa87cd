#!/usr/bin/env bash
# The reference of the public headers builds without a warning, so everything public is documented.
set -euo pipefail
source=$1 output=$2
command -v doxygen >/dev/null || { echo "skipped: no doxygen"; exit 77; }
mkdir -p "$output"
cd "$source"
{ cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = $output"; } | doxygen -
for page in index.html classantegrad_1_1Compiled.html structantegrad_1_1Options.html; do
  [[ -s $output/html/$page ]] || { echo "no page $page"; exit 1; }
done
