#!/usr/bin/env bash
# Installs what antegrad needs to build: Debian packages (if missing, and only as root) and LibTorch, and clang 19 if it is
# available.
#
#   scripts/setup.sh            everything that building and testing needs
#   scripts/setup.sh --docs     Doxygen only, for make docs
#   scripts/setup.sh --browser  also a browser and its driver, if available, for the test of `antegrad report`
#   LIBTORCH=/path              use that LibTorch (an unpacked archive, or site-packages/torch) instead of downloading one
#   ANTEGRAD_DEPS=/path         where a downloaded LibTorch goes (default: .deps in the project)
#
# It is idempotent: a second run takes a few milliseconds.
set -euo pipefail
cd "$(dirname "$0")/.."

torch_version=2.11.0
cudart_version=13.0.96   # libtorch_cpu of the PyPI wheel links the CUDA runtime and its profiler;
cupti_version=13.0.85    # no GPU and no other CUDA library is needed to run it.
nvrtc_version=13.0.88    # compiles kernels for CUDA devices in tests; they are skipped without it
deps=${ANTEGRAD_DEPS:-$PWD/.deps}

say() { printf 'setup: %s\n' "$*" >&2; }

# a command or header, and the package that contains it
needs=(
  "g++:g++" "cmake:cmake" "ninja:ninja-build" "ccache:ccache" "git:git" "unzip:unzip" "python3:python3"
  "pkg-config:pkg-config" "dpkg-shlibdeps:dpkg-dev"
  "/usr/include/gtest/gtest.h:libgtest-dev" "/usr/include/benchmark/benchmark.h:libbenchmark-dev"
  "/usr/include/fmt/format.h:libfmt-dev" "/usr/include/CLI/CLI.hpp:libcli11-dev"
  "/usr/include/openssl/evp.h:libssl-dev" "/usr/include/hiredis/hiredis.h:libhiredis-dev"
  "/usr/include/nlohmann/json.hpp:nlohmann-json3-dev" "redis-server:redis-server"
  "/usr/include/boost/graph/boykov_kolmogorov_max_flow.hpp:libboost-dev"
)
docs=0
if [[ ${1:-} == --docs ]]; then docs=1 needs=("doxygen:doxygen"); fi
missing=()
for need in "${needs[@]}"; do
  what=${need%%:*} package=${need##*:}
  if [[ $what == /* ]]; then [[ -e $what ]] || missing+=("$package"); else command -v "$what" >/dev/null || missing+=("$package"); fi
done
fetch_torch=0
if ((!docs)) && [[ -z ${LIBTORCH:-} && ! -e $deps/libtorch/.complete-$torch_version ]]; then
  fetch_torch=1
  python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
fi
if ((${#missing[@]})); then
  if ((EUID == 0)) && command -v apt-get >/dev/null; then
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  else
    say "missing: ${missing[*]}"
    say "install them (as root: apt-get install ${missing[*]}) and run this again"
    exit 1
  fi
fi
((!docs)) || exit 0

# install_if_possible LACK CONSEQUENCE PACKAGES...: installs packages that antegrad can do without.
install_if_possible() {
  local lack=$1 consequence=$2
  shift 2
  if ((EUID == 0)) && command -v apt-get >/dev/null; then
    say "installing $*"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get install -y -qq --no-install-recommends "$@" ||
      { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; }; } >/dev/null 2>&1 ||
      say "$lack to be had; $consequence"
  else
    say "$lack: $consequence (as root: apt-get install $*)"
  fi
}

# In-process clang. Without these packages, the system compiler compiles the kernels instead.
clang_packages=(libclang-19-dev libclang-cpp19-dev llvm-19-dev)
clang_needs=(clang/Frontend/CompilerInstance.h llvm/Config/llvm-config.h)
clang_missing=0
for header in "${clang_needs[@]}"; do [[ -e /usr/lib/llvm-19/include/$header ]] || clang_missing=1; done
[[ -e /usr/lib/llvm-19/lib/libclang-cpp.so ]] || clang_missing=1
if ((clang_missing)); then
  install_if_possible "no clang 19" "the system compiler will be used" "${clang_packages[@]}"
fi

# A browser. Without it, the test that needs it is skipped.
browser_packages=(chromium chromium-driver python3-selenium)
if [[ ${1:-} == --browser ]] && ! { command -v chromium && command -v chromedriver && [[ -d /usr/lib/python3/dist-packages/selenium ]]; } >/dev/null; then
  install_if_possible "no browser" "report_browser_test will be skipped" "${browser_packages[@]}"
fi

if [[ -n ${LIBTORCH:-} ]]; then
  [[ -e $LIBTORCH/lib/libtorch_cpu.so ]] || { say "LIBTORCH=$LIBTORCH has no lib/libtorch_cpu.so"; exit 1; }
  exit 0
fi
((fetch_torch)) || exit 0

say "fetching LibTorch $torch_version (530 MB)"
mkdir -p "$deps"
work=$(mktemp -d "$deps/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
get() {
  python3 -m pip download -q --no-deps --disable-pip-version-check --only-binary=:all: --python-version 311 \
    --implementation cp --abi cp311 --abi none --platform "manylinux_2_28_$(uname -m)" \
    --platform "manylinux_2_27_$(uname -m)" --platform "manylinux_2_25_$(uname -m)" \
    --platform "manylinux_2_17_$(uname -m)" --platform "manylinux2014_$(uname -m)" --platform "manylinux_2_12_$(uname -m)" -d "$work" "$@"
}
get "torch==$torch_version"
get "nvidia-cuda-runtime==$cudart_version" "nvidia-cuda-cupti==$cupti_version"
unzip -q "$work"/torch-*.whl 'torch/include/*' 'torch/lib/libtorch_cpu.so' 'torch/lib/libc10.so' 'torch/lib/libgomp*' \
  'torch/version.py' 'torch-*.dist-info/licenses/*' -d "$work/out"
unzip -q "$work"/nvidia_cuda_runtime-*.whl 'nvidia/*/lib/*' -d "$work/out"
unzip -q "$work"/nvidia_cuda_cupti-*.whl 'nvidia/*/lib/libcupti.so*' -d "$work/out"
find "$work/out/nvidia" -name '*.so*' -exec mv -t "$work/out/torch/lib" {} +
if get "nvidia-cuda-nvrtc==$nvrtc_version" 2>/dev/null; then
  unzip -q "$work"/nvidia_cuda_nvrtc-*.whl 'nvidia/*/lib/libnvrtc*.so*' -d "$work/nvrtc"
  find "$work/nvrtc" -name '*.so*' ! -name '*.alt.*' -exec mv -t "$work/out/torch/lib" {} +
else
  say "no NVRTC to be had; tests that compile for CUDA devices are skipped unless a toolkit is installed"
fi
mv "$work"/out/torch-*.dist-info/licenses "$work/out/torch/licenses"
rm -rf "$deps/libtorch"
mv "$work/out/torch" "$deps/libtorch"
touch "$deps/libtorch/.complete-$torch_version"
say "LibTorch is in $deps/libtorch"
