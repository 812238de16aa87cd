// Learns to read digits: a convolutional net with batch normalisation and dropout.
//
//     conv_net [--steps N]
//
// The program draws the digits itself, each slightly moved, rotated and scaled, with noise. The lambda of the
// loss hides the net, so Options::watch names it. Then net->eval() and net->train() are noticed, and each
// mode has its own graph.
#include <antegrad/antegrad.h>

#include "example.h"

namespace {

using at::Tensor;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

constexpr int64_t kSide = 20, kBatch = 64;

/// Returns the ten digits as images: {10, 1, 20, 20}.
Tensor draw_digits() {
  const char* rows[7] = {" ###    #    ###   ###     #  #####  ###  #####  ###   ### ",
                         "#   #  ##   #   # #   #   ##  #     #     #   # #   # #   #",
                         "#  ##   #       #     #  # #  #     #         # #   # #   #",
                         "# # #   #     ##    ##  #  #  ####  ####     #   ###   ####",
                         "##  #   #    #        # #####     # #   #   #   #   #     #",
                         "#   #   #   #     #   #    #  #   # #   #  #    #   #     #",
                         " ###   ###  #####  ###     #   ###   ###  #      ###   ### "};
  auto digits = torch::zeros({10, 1, 7, 5});
  for (int64_t digit = 0; digit < 10; ++digit)
    for (int64_t y = 0; y < 7; ++y)
      for (int64_t x = 0; x < 5; ++x) digits[digit][0][y][x] = rows[y][6 * digit + x] == '#' ? 1 : 0;
  auto larger = F::interpolate(digits, F::InterpolateFuncOptions().size(std::vector<int64_t>{14, 10}));
  return F::pad(larger, F::PadFuncOptions({5, 5, 3, 3}));
}

/// Images and their labels.
std::pair<Tensor, Tensor> random_batch(const Tensor& digits) {
  auto labels = torch::randint(10, {kBatch});
  auto move = torch::eye(2, 3) + 0.15 * torch::randn({kBatch, 2, 3});
  auto grid = F::affine_grid(move, {kBatch, 1, kSide, kSide}, /*align_corners=*/false);
  auto options = F::GridSampleFuncOptions().align_corners(false);
  auto pictures = F::grid_sample(digits.index_select(0, labels), grid, options);
  return {pictures + 0.3 * torch::randn_like(pictures), labels};
}

nn::Sequential make_net() {
  return nn::Sequential(
      nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1).bias(false)), nn::BatchNorm2d(16), nn::ReLU(),
      nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1).bias(false)), nn::BatchNorm2d(32),
      nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Dropout(0.2), nn::Linear(32 * 5 * 5, 10));
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = example::steps(argc, argv, 300);
  torch::manual_seed(0);
  const auto digits = draw_digits();
  auto net = make_net();
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(2e-3));

  auto eager_loss = [&](const Tensor& pictures, const Tensor& labels) {
    return F::cross_entropy(net->forward(pictures), labels);
  };
  antegrad::Options options;
  options.name = "loss";
  options.watch = {net.ptr()};
  auto compiled_loss = antegrad::compile(eager_loss, options);
  auto read = antegrad::compile(net);  // a module that is compiled itself is watched automatically

  auto train_step = [&](const auto& loss_of) {
    auto [pictures, labels] = random_batch(digits);
    optimizer.zero_grad();
    auto loss = loss_of(pictures, labels);
    loss.backward();
    optimizer.step();
    return loss.template item<double>();
  };
  example::Log log("loss", steps);
  for (int step = 0; step < steps; ++step) log(train_step(compiled_loss));

  net->eval();
  torch::NoGradGuard no_grad;
  auto [pictures, labels] = random_batch(digits);
  auto scores = read(pictures);
  const double correct = (scores.argmax(1) == labels).to(at::kFloat).mean().item<double>();
  const double difference = example::difference(scores, net->forward(pictures));
  std::printf("reads %.0f %% of new digits; largest difference from eager: %.1e\n", 100 * correct,
              difference);

  net->train();
  at::AutoGradMode with_grad(true);
  example::compare_times(
      "a training step", [&] { train_step(compiled_loss); }, [&] { train_step(eager_loss); });
  return log.last() < log.first() && difference < 1e-4 ? 0 : 1;
}
