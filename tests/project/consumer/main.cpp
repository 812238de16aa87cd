#include <antegrad/antegrad.h>
#include <torch/utils.h>

int main() {
  auto eager = [](const at::Tensor& x) { return (x * 2).relu(); };
  auto compiled = antegrad::compile(eager);
  torch::NoGradGuard no_grad;
  auto x = at::randn({3, 4});
  return at::equal(compiled(x), eager(x)) ? 0 : 1;
}
