#!/usr/bin/env bash
# The header for users of packages does not bring the headers of LibTorch's C++ frontend (torch/torch.h).
#   package_header_test.sh COMPILER SOURCE_DIR LIBTORCH
set -u
headers=$("$1" -std=c++20 -M -x c++ -I"$2/include" -I"$3/include" "$2/include/antegrad/package.h") || exit 1
grep -q 'antegrad/function.h' <<<"$headers" || { echo "FAILED: no list of headers"; exit 1; }
if grep -oE '[^ ]*/(torch/csrc/api|torch/csrc/jit|torch/csrc/autograd|torch/torch\.h)[^ ]*' <<<"$headers"; then
  echo "FAILED: antegrad/package.h includes the headers above"
  exit 1
fi
echo "all passed"
