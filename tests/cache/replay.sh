#!/usr/bin/env bash
# Runs a test program twice with the same cache: the second run must load everything from it (ALI-03).
#   replay.sh PROGRAM [arguments]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export ANTEGRAD_CACHE_DIR=$folder/cache
ANTEGRAD_CACHE=on "$@"
ANTEGRAD_CACHE=strict "$@"
