// Trains two nets against each other until one of them draws rings: a small DCGAN.
//
//     dcgan [--steps N]
//
// The generator turns noise into images with transposed convolutions, and the discriminator tells them from
// real ones. Each has a loss, a compiled function of its own; both losses use both nets, and watch both.
#include <antegrad/antegrad.h>

#include "example.h"

namespace {

using at::Tensor;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

constexpr int64_t kSide = 16, kNoise = 16, kBatch = 32;

/// Returns images of rings of random size around random points, from -1 (dark) to 1.
Tensor random_rings() {
  auto axis = torch::linspace(-1, 1, kSide);
  auto place = [](double spread) { return spread * torch::randn({kBatch, 1, 1, 1}); };
  auto x = axis.view({1, 1, 1, kSide}) - place(0.08), y = axis.view({1, 1, kSide, 1}) - place(0.08);
  auto radius = 0.55 + place(0.06);
  return 2 * torch::exp(-40 * ((x * x + y * y).sqrt() - radius).pow(2)) - 1;
}

nn::Sequential make_generator() {
  auto twice = [](int64_t from, int64_t to) {
    return nn::ConvTranspose2d(nn::ConvTranspose2dOptions(from, to, 4).stride(2).padding(1));
  };
  return nn::Sequential(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(kNoise, 32, 4)), nn::BatchNorm2d(32),
                        nn::ReLU(), twice(32, 16), nn::BatchNorm2d(16), nn::ReLU(), twice(16, 1), nn::Tanh());
}

nn::Sequential make_discriminator() {
  auto half = [](int64_t from, int64_t to) {
    return nn::Conv2d(nn::Conv2dOptions(from, to, 4).stride(2).padding(1));
  };
  auto leaky = [] { return nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)); };
  return nn::Sequential(half(1, 16), leaky(), half(16, 32), nn::BatchNorm2d(32), leaky(), nn::Flatten(),
                        nn::Linear(32 * 4 * 4, 1));
}

Tensor cross_entropy(const Tensor& scores, double target) {
  return F::binary_cross_entropy_with_logits(scores, torch::full_like(scores, target));
}

void print_picture(const Tensor& picture) {
  const char* shades = " .:-=+*#%@";
  for (int64_t y = 0; y < kSide; ++y) {
    for (int64_t x = 0; x < kSide; ++x) {
      const char shade = shades[static_cast<int>((picture[y][x].item<double>() + 1) * 4.99)];
      std::printf("%c%c", shade, shade);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = example::steps(argc, argv, 400);
  torch::manual_seed(0);
  auto generator = make_generator(), discriminator = make_discriminator();
  const auto adam = torch::optim::AdamOptions(2e-3).betas({0.5, 0.999});
  torch::optim::Adam generator_optimizer(generator->parameters(), adam);
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(), adam);

  auto eager_discriminator_loss = [&](const Tensor& real, const Tensor& noise) {
    auto fake = generator->forward(noise).detach();
    return cross_entropy(discriminator->forward(real), 0.9) + cross_entropy(discriminator->forward(fake), 0);
  };
  auto eager_generator_loss = [&](const Tensor& noise) {
    return cross_entropy(discriminator->forward(generator->forward(noise)), 1);
  };
  antegrad::Options options;
  options.watch = {generator.ptr(), discriminator.ptr()};
  auto discriminator_loss = antegrad::compile(eager_discriminator_loss, options);
  auto generator_loss = antegrad::compile(eager_generator_loss, options);

  auto random_noise = [] { return torch::randn({kBatch, kNoise, 1, 1}); };
  auto play = [&](const auto& loss_of_discriminator, const auto& loss_of_generator) {
    discriminator_optimizer.zero_grad();
    loss_of_discriminator(random_rings(), random_noise()).backward();
    discriminator_optimizer.step();
    generator_optimizer.zero_grad();
    loss_of_generator(random_noise()).backward();
    generator_optimizer.step();
  };

  // The losses need not fall; the distance between the mean generated and the mean real image must.
  const auto mean_ring = random_rings().mean(0);
  auto distance = [&] {
    torch::NoGradGuard no_grad;
    return (generator->forward(random_noise()).mean(0) - mean_ring).abs().mean().item<double>();
  };
  example::Log log("distance of mean pictures", steps);
  for (int step = 0; step < steps; ++step) {
    play(discriminator_loss, generator_loss);
    log(distance());
  }

  generator->eval();
  discriminator->eval();
  torch::NoGradGuard no_grad;
  const auto noise = random_noise();
  print_picture(generator->forward(noise)[0][0]);
  const double difference = example::difference(generator_loss(noise), eager_generator_loss(noise));
  std::printf("distance %.3f at first, %.3f at last; difference of a loss from eager: %.1e\n", log.first(),
              log.last(), difference);

  generator->train();
  discriminator->train();
  at::AutoGradMode with_grad(true);
  example::compare_times(
      "a round", [&] { play(discriminator_loss, generator_loss); },
      [&] { play(eager_discriminator_loss, eager_generator_loss); });
  return log.last() < log.first() && difference < 1e-4 ? 0 : 1;
}
