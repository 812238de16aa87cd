#include <antegrad/antegrad.h>
#include <torch/utils.h>

#include <cstdio>

namespace {

at::Tensor twice(const at::Tensor& x) { return (x * 2).relu(); }

bool same_result() {
  torch::NoGradGuard no_grad;
  const auto x = at::randn({3, 4});
  return at::equal(antegrad::compile(twice)(x), twice(x));
}

bool same_gradient() {
  const auto x = at::randn({3, 4}).requires_grad_();
  antegrad::compile(twice)(x).sum().backward();
  const auto compiled = x.grad().clone();
  x.mutable_grad().reset();
  twice(x).sum().backward();
  return at::equal(compiled, x.grad());
}

/// An exception that the library throws can be caught by its type here.
bool error_arrives() {
  try {
    antegrad::Exported::parse("no graph");
  } catch (const antegrad::Error& error) {
    return error.code() == antegrad::ErrorCode::Parse;
  }
  return false;
}

}  // namespace

int main() {
  std::printf("%s\n", antegrad::explain(twice, at::ones({3, 4})).toolchain.c_str());
  if (!same_result()) return 1;
  if (!same_gradient()) return 2;
  return error_arrives() ? 0 : 3;
}
