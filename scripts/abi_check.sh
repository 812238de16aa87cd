#!/usr/bin/env bash
# Compares the symbols that the built libraries export with the lists in tests/project/abi, and prints what a difference means
# for the version.
#
#   scripts/abi_check.sh [BUILD]             exit status 1 if they differ (default: build/release)
#   scripts/abi_check.sh --update [BUILD]    writes the lists
#
# Symbols show added and removed functions and changed arguments. They do not show changes of fields, enumerators and inline
# functions in public headers: raise SOVERSION for those too.
set -euo pipefail
cd "$(dirname "$0")/.."
update=0
if [[ ${1:-} == --update ]]; then update=1; shift; fi
build=${1:-build/release}
lists=tests/project/abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

shown() { nm -D --defined-only -P "$1" | awk '{print $1}' | c++filt | LC_ALL=C sort -u; }

compare() {  # LIBRARY LIST WHAT-TO-DO-ABOUT-REMOVALS
  shown "$1" >"$work/now"
  if ((update)); then cp "$work/now" "$lists/$2"; return; fi
  LC_ALL=C sort -u "$lists/$2" >"$work/listed"
  LC_ALL=C comm -23 "$work/listed" "$work/now" >"$work/removed"
  LC_ALL=C comm -13 "$work/listed" "$work/now" >"$work/added"
  if [[ -s $work/removed ]]; then
    echo "$(basename "$1") does not show any more:"
    sed 's/^/  - /' "$work/removed"
    echo "$3"
  fi
  if [[ -s $work/added ]]; then
    echo "$(basename "$1") shows also:"
    sed 's/^/  + /' "$work/added"
    echo "Programs that are there keep working: raise the minor version, not SOVERSION. If it is not meant to be public, take" \
         "it out of the exports.map."
  fi
  [[ ! -s $work/removed && ! -s $work/added ]] || { status=1; echo "When it is meant: scripts/abi_check.sh --update"; }
}

# Whatever is directly in namespace antegrad is public; internal code has a nested namespace per folder of src/.
check_complete() {  # LIBRARY-THAT-EXPORTS-EVERYTHING
  local inside
  inside=$(find src -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | paste -sd'|')'|packaging'  # package() is a function
  nm -D --defined-only -P "$1" | awk '$2 == "T" {print $1}' | c++filt | grep -E '^antegrad(::|_)' |
    grep -vE "^antegrad::($inside)::|::Impl::" | LC_ALL=C sort -u >"$work/public"
  shown "$build/src/libantegrad.so" | LC_ALL=C comm -23 "$work/public" - >"$work/missing"
  if [[ -s $work/missing ]]; then
    echo "Not shown by libantegrad.so, but defined in a public namespace:"
    sed 's/^/  ? /' "$work/missing"
    echo "Add them to src/exports.map if a public header declares them, else move them to the namespace of their folder."
    status=1
  fi
}

compare "$build/src/libantegrad.so" libantegrad.txt \
  "Programs linked with it would not start: raise SOVERSION in src/CMakeLists.txt, and the version in CMakeLists.txt."
if [[ -e $build/src/libantegrad_clang.so ]]; then
  compare "$build/src/libantegrad_clang.so" libantegrad_clang.txt \
    "A library of another build could not open it: give the functions in src/toolchain/plugin_api.h a new number."
fi
if [[ -e $build/src/libantegrad_internals.so ]]; then check_complete "$build/src/libantegrad_internals.so"; fi
exit $status
