// Captures a small network, prints its graph, runs it compiled and in eager, and compares the results.
#include <antegrad/antegrad.h>
#include <torch/torch.h>

#include <cstdio>

int main() {
  torch::manual_seed(0);
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).padding(1)),
                            torch::nn::BatchNorm2d(8), torch::nn::ReLU(), torch::nn::Flatten(),
                            torch::nn::Linear(8 * 8 * 8, 10));
  net->eval();
  torch::NoGradGuard no_grad;  // no training here

  antegrad::Options options;
  options.name = "net";
  auto compiled = antegrad::compile(net, options);
  auto x = torch::randn({4, 3, 8, 8});
  auto y = compiled(x);  // captures
  std::printf("%s\n", compiled.graph().c_str());

  double worst = 0;
  for (int call = 0; call < 3; ++call) {
    x = torch::randn({4, 3, 8, 8});
    worst = std::max(worst, (compiled(x) - net->forward(x)).abs().max().item<double>());
  }
  auto report = compiled.report();
  std::printf("%llu calls, %llu capture(s), largest difference from eager: %g\n",
              static_cast<unsigned long long>(report.calls), static_cast<unsigned long long>(report.captures),
              worst);

  net->train();  // the module is watched: this call captures again
  compiled(x);
  std::printf("after net->train(): %s\n", compiled.report().recapture_reasons.back().c_str());
  return worst == 0 ? 0 : 1;
}
