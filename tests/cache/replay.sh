#!/usr/bin/env bash
# Runs a test program twice with one cache: the second time everything must come from there (ALI-03).
#   replay.sh PROGRAM [arguments]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export ANTEGRAD_CACHE_DIR=$folder/cache
ANTEGRAD_CACHE=on "$@"
ANTEGRAD_CACHE=strict "$@"
