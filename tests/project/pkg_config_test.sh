#!/usr/bin/env bash
# A program without a build system: g++ with the flags that pkg-config prints for the antegrad of consumer_test.
set -euo pipefail
build=$1 consumer=$2 cxx=$4 flags=${5:-}
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
unset LIBTORCH LD_LIBRARY_PATH

installed=$build/consumer_test
export PKG_CONFIG_PATH=$installed/prefix/lib/pkgconfig
pkg-config --exists antegrad
object=$(find "$installed/build" -name 'main.cpp.o')
program=$build/consumer_test/by_pkg_config
# shellcheck disable=SC2046,SC2086
$cxx $flags $(pkg-config --cflags antegrad) -M "$consumer/main.cpp" >/dev/null  # every header is found
# shellcheck disable=SC2046,SC2086
$cxx $flags "$object" -o "$program" $(pkg-config --libs antegrad)
"$program"

moved=$(pkg-config --define-variable=libtorch=/elsewhere --libs --cflags antegrad)
[[ $moved == */elsewhere/include* && $moved == */elsewhere/lib* ]] || { echo "LibTorch stayed where it was: $moved"; exit 1; }
