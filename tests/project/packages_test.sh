#!/usr/bin/env bash
# Packs this build, unpacks the packages elsewhere, links the program of consumer_test against each, and runs it.
set -euo pipefail
build=$1 consumer=$2 libtorch=$3 cxx=$4 flags=${5:-}
unset LIBTORCH LD_LIBRARY_PATH
work=$build/packages_test
rm -rf "$work"
mkdir -p "$work"

fail() { printf '%s\n' "$*" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }; }

check_files() {  # PREFIX
  local library=$1/lib/libantegrad.so.0 file
  for file in bin/antegrad lib/libantegrad.so lib/cmake/antegrad/antegrad-config.cmake lib/pkgconfig/antegrad.pc \
              include/antegrad/antegrad.h share/doc/antegrad/copyright; do
    [[ -e $1/$file ]] || fail "$1 has no $file"
  done
  [[ ! -e $build/src/libantegrad_clang.so || -e $1/lib/libantegrad_clang.so ]] || fail "$1 has no plugin"
  if grep -rlF -e "$build" -e "$libtorch" "$1/lib/cmake" "$1/lib/pkgconfig"; then fail "these name folders of this machine"; fi
  if readelf -d "$library" | grep -E 'RPATH|RUNPATH'; then fail "$library has a path of its own"; fi
}

check_program() {  # PREFIX NAME
  local object project=$work/$2-project
  object=$(find "$build/consumer_test/build" -name 'main.cpp.o')
  local configure=(cmake -S "$consumer" -B "$project" "-DCMAKE_PREFIX_PATH=$1" "-DCMAKE_CXX_COMPILER=$cxx"
                   "-DCMAKE_CXX_FLAGS=$flags" "-DCONSUMER_OBJECT=$object")
  if "${configure[@]}" >"$work/log" 2>&1; then fail "a LibTorch was found that nobody named"; fi
  grep -q LIBTORCH "$work/log" || fail "the message does not say how to name LibTorch: $(cat "$work/log")"
  quietly "${configure[@]}" "-DLIBTORCH=$libtorch"
  quietly cmake --build "$project"
  [[ $("$project/consumer") == $("$build/consumer_test/build/consumer") ]] || fail "another compiler than when installed"
  [[ $(ldd "$project/consumer") == *"$1/"* ]] || fail "$project/consumer does not use $1"
  quietly "$1/bin/antegrad" --help
  command -v pkg-config >/dev/null || return 0
  # shellcheck disable=SC2046,SC2086
  quietly $cxx $flags "$object" -o "$work/$2-by-pkg-config" \
    $(PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config "--define-variable=libtorch=$libtorch" --libs antegrad)
  quietly "$work/$2-by-pkg-config"
}

unpack_deb() {  # FILE ROOT
  mkdir -p "$2"
  if ((EUID == 0)); then  # with dpkg itself, into an empty root
    mkdir -p "$2"/var/lib/dpkg/{info,updates}
    touch "$2/var/lib/dpkg/status"
    quietly dpkg --root="$2" --force-depends --log=/dev/null --unpack "$1"
  else
    quietly dpkg-deb -x "$1" "$2"
  fi
}

check_dependencies() {  # FILE
  local depends name
  depends=$(dpkg-deb -f "$1" Depends)
  for name in libc6 'libstdc++6' libfmt libhiredis libssl3; do
    [[ $depends == *"$name"* ]] || fail "the package does not depend on $name: $depends"
  done
  [[ $depends != *torch* ]] || fail "there is no Debian package of this LibTorch: $depends"
  tr ',' '\n' <<<"$depends" | sed 's/|.*//; s/([^)]*)//; s/ //g' | while read -r name; do
    dpkg-query -W "$name" >/dev/null || fail "the package depends on $name, which this machine does without"
  done
}

pack() { quietly cpack --config "$build/CPackConfig.cmake" -B "$work/packages" -G "$1"; }

pack TGZ
tar -xzf "$work"/packages/antegrad-*.tar.gz -C "$work"
mkdir "$work/elsewhere"
mv "$work"/antegrad-* "$work/elsewhere/antegrad"
check_files "$work/elsewhere/antegrad"
check_program "$work/elsewhere/antegrad" archive

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
  pack DEB
  package=$(echo "$work"/packages/antegrad_*.deb)
  check_dependencies "$package"
  unpack_deb "$package" "$work/root"
  check_files "$work/root/usr"
  check_program "$work/root/usr" deb
else
  echo "without the Debian package: no dpkg-deb or no dpkg-shlibdeps"
fi
rm -rf "$work"
