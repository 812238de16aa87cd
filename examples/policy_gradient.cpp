// Learns to balance a pole on a cart, by trial and error: REINFORCE on the classic cart-pole.
//
//     policy_gradient [--steps N]
//
// There are two compiled functions. `policy` is called for every move, on one small tensor: its cost is
// overhead. `loss` is called once per round, on all moves of the round, whose number varies: the second round
// compiles it for any number, and no later round compiles anything.
#include <antegrad/antegrad.h>

#include <array>
#include <cmath>
#include <random>

#include "example.h"

namespace {

using at::Tensor;
namespace nn = torch::nn;

constexpr int kEpisodes = 8, kLongest = 200;
constexpr double kDiscount = 0.99;

/// A cart on a rail with a pole on it. The episode ends when the pole leans 12 degrees or the cart leaves the
/// rail.
struct CartPole {
  using State = std::array<float, 4>;  // position, velocity, angle, angular velocity
  State state{};

  template <class Random>
  void reset(Random& random) {
    std::uniform_real_distribution<float> small(-0.05f, 0.05f);
    for (auto& number : state) number = small(random);
  }

  /// Pushes the cart to the left (0) or to the right (1); returns false when the episode has ended.
  bool push(int direction) {
    constexpr float kGravity = 9.8f, kPole = 0.1f, kAll = 1.1f, kHalfLength = 0.5f, kDt = 0.02f;
    auto& [x, v, angle, spin] = state;
    const float force = direction == 1 ? 10.f : -10.f;
    const float c = std::cos(angle), s = std::sin(angle);
    const float push = (force + kPole * kHalfLength * spin * spin * s) / kAll;
    const float turn = (kGravity * s - c * push) / (kHalfLength * (4.f / 3.f - kPole * c * c / kAll));
    const float pull = push - kPole * kHalfLength * turn * c / kAll;
    x += kDt * v;
    v += kDt * pull;
    angle += kDt * spin;
    spin += kDt * turn;
    return std::abs(x) < 2.4f && std::abs(angle) < 0.2095f;
  }
};

/// All moves of several episodes.
struct Round {
  std::vector<CartPole::State> states;
  std::vector<int64_t> moves;
  std::vector<float> returns;  ///< the discounted rewards after each move

  double mean_length() const { return static_cast<double>(moves.size()) / kEpisodes; }
  Tensor states_tensor() const {
    return torch::from_blob(const_cast<float*>(states.data()->data()),
                            {static_cast<int64_t>(states.size()), 4})
        .clone();
  }
  Tensor advantages() const {
    auto all = torch::tensor(returns);
    return (all - all.mean()) / (all.std() + 1e-6);
  }
};

template <class Policy>
Round play(const Policy& policy, std::mt19937& random) {
  torch::NoGradGuard no_grad;
  Round round;
  std::uniform_real_distribution<float> chance(0, 1);
  for (int episode = 0; episode < kEpisodes; ++episode) {
    CartPole cart;
    cart.reset(random);
    const auto begin = round.moves.size();
    for (bool stands = true; stands && round.moves.size() - begin < kLongest;) {
      const auto probability =
          policy(torch::tensor({{cart.state[0], cart.state[1], cart.state[2], cart.state[3]}}));
      const int move = chance(random) < probability.template item<float>() ? 1 : 0;
      round.states.push_back(cart.state);
      round.moves.push_back(move);
      stands = cart.push(move);
    }
    float sum = 0;
    round.returns.resize(round.moves.size());
    for (auto i = round.moves.size(); i-- > begin;) round.returns[i] = sum = 1 + kDiscount * sum;
  }
  return round;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = example::steps(argc, argv, 60);
  torch::manual_seed(0);
  std::mt19937 random(0);
  nn::Sequential net(nn::Linear(4, 32), nn::Tanh(), nn::Linear(32, 1));
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-2));

  antegrad::Options options;
  options.watch = {net.ptr()};
  auto eager_policy = [&](const Tensor& state) { return net->forward(state).sigmoid(); };
  auto eager_loss = [&](const Tensor& states, const Tensor& moves, const Tensor& advantages) {
    auto scores = net->forward(states).squeeze(1);
    auto log_probability = -nn::functional::binary_cross_entropy_with_logits(
        scores, moves, nn::functional::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
    return -(log_probability * advantages).mean();
  };
  auto policy = antegrad::compile(eager_policy, options);
  auto loss = antegrad::compile(eager_loss, options);

  auto loss_on = [](const auto& loss_of, const Round& round) {
    return loss_of(round.states_tensor(), torch::tensor(round.moves).to(at::kFloat), round.advantages());
  };
  example::Log log("moves until the pole falls", rounds);
  Round round;
  for (int i = 0; i < rounds; ++i) {
    round = play(policy, random);
    optimizer.zero_grad();
    loss_on(loss, round).backward();
    optimizer.step();
    log(round.mean_length());
  }

  const double difference =
      std::abs(loss_on(loss, round).item<double>() - loss_on(eager_loss, round).item<double>());
  const auto report = loss.report();
  std::printf("%.0f moves at first, %.0f at last (%d is the most); difference of the loss from eager: %.1e\n",
              log.first(), log.last(), kLongest, difference);
  std::printf("the loss has seen rounds of %d lengths and was compiled %d times\n",
              static_cast<int>(report.sizes), static_cast<int>(report.captures));
  const auto state = torch::zeros({1, 4});
  torch::NoGradGuard no_grad;
  example::compare_times(
      "one move", [&] { policy(state); }, [&] { eager_policy(state); });
  return log.last() > log.first() && difference < 1e-4 ? 0 : 1;
}
