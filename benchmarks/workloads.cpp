#include "workloads.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <map>
#include <utility>

namespace antegrad::benchmarks {
namespace {

using at::Tensor;

/// Hands out parameters in the order in which they were made.
class Reader {
 public:
  explicit Reader(const Tensors& tensors) : next_(tensors.begin()) {}
  const Tensor& next() { return *next_++; }

 private:
  Tensors::const_iterator next_;
};

Tensor leaf(const Tensor& values) { return values.detach().set_requires_grad(true); }

// --- layers: how their parameters are made, and what they do with them

void make_linear(Tensors& parameters, int64_t in, int64_t out, bool bias = true) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  parameters.push_back(leaf(at::empty({out, in}).uniform_(-bound, bound)));
  if (bias) parameters.push_back(leaf(at::empty({out}).uniform_(-bound, bound)));
}
Tensor linear(Reader& parameters, const Tensor& x) {
  const auto& weight = parameters.next();
  return at::linear(x, weight, parameters.next());
}

void make_norm(Tensors& parameters, int64_t width) {
  parameters.push_back(leaf(at::ones({width})));
  parameters.push_back(leaf(at::zeros({width})));
}
Tensor norm(Reader& parameters, const Tensor& x) {
  const auto& weight = parameters.next();
  return at::layer_norm(x, {x.size(-1)}, weight, parameters.next());
}

// --- small, mlp

Workload make_mlp(int64_t rows, int64_t width, int64_t layers) {
  Workload out;
  for (int64_t layer = 0; layer < layers; ++layer) {
    make_norm(out.parameters, width);
    make_linear(out.parameters, width, width);
  }
  out.inputs = {at::randn({rows, width}), at::randn({rows, width})};
  out.loss = [layers](const Tensors& parameters, const Tensors& inputs) {
    Reader reader(parameters);
    auto x = inputs[0];
    for (int64_t layer = 0; layer < layers; ++layer) x = x + at::silu(linear(reader, norm(reader, x)));
    return at::mse_loss(x, inputs[1]);
  };
  return out;
}
Workload make_small() { return make_mlp(8, 16, 4); }
Workload make_wide() { return make_mlp(256, 256, 6); }

// --- pot

Tensor potential(const Tensors& parameters, const Tensors& inputs) {
  Reader reader(parameters);
  const auto& centres = reader.next();
  const auto& positions = inputs[0];
  auto r = at::index(positions, {inputs[1].select(0, 0)}) - at::index(positions, {inputs[1].select(0, 1)});
  auto d = (r * r).sum(-1).clamp_min(1e-6).sqrt();
  auto cut = 0.5 * (at::cos(3.14159265 * d / 6.0) + 1) * (d < 6.0);
  auto x = at::exp(-4.0 * (d.unsqueeze(1) - centres).pow(2)) * cut.unsqueeze(1);
  for (int layer = 0; layer < 2; ++layer) x = at::silu(linear(reader, x));
  return (linear(reader, x).squeeze(-1) * cut).sum();
}

Workload make_pot() {
  constexpr int64_t kAtoms = 2000, kPairs = 20 * kAtoms, kFeatures = 32, kWidth = 64;
  Workload out;
  out.parameters = {leaf(at::linspace(0.5, 5, kFeatures))};
  make_linear(out.parameters, kFeatures, kWidth);
  make_linear(out.parameters, kWidth, kWidth);
  make_linear(out.parameters, kWidth, 1);
  out.inputs = {leaf(at::rand({kAtoms, 3}) * 10), at::randint(0, kAtoms, {2, kPairs}, at::kLong)};
  out.loss = potential;
  return out;
}

// --- mem

Tensor memory_bound(const Tensors& parameters, const Tensors& inputs) {
  const auto& x = inputs[0];
  auto z = x * at::rsqrt(x.pow(2).mean(-1, /*keepdim=*/true) + 1e-6) * parameters[0] + parameters[1];
  z = at::gelu(z, "tanh") * at::sigmoid(x);
  z = at::dropout(z, 0.1, /*train=*/true);
  return (z - inputs[1]).pow(2).mean();
}

Workload make_mem() {
  constexpr int64_t kRows = 4096, kWidth = 1024;
  Workload out;
  out.parameters = {leaf(at::ones({kWidth})), leaf(at::zeros({kWidth}))};
  out.inputs = {at::randn({kRows, kWidth}), at::randn({kRows, kWidth})};
  out.loss = memory_bound;
  return out;
}

// --- gpt

constexpr int64_t kVocabulary = 4096, kGptWidth = 256, kHeads = 8, kBlocks = 4, kBatch = 4, kLength = 128;

void make_block(Tensors& parameters) {
  make_norm(parameters, kGptWidth);
  make_linear(parameters, kGptWidth, 3 * kGptWidth);
  make_linear(parameters, kGptWidth, kGptWidth);
  make_norm(parameters, kGptWidth);
  make_linear(parameters, kGptWidth, 4 * kGptWidth);
  make_linear(parameters, 4 * kGptWidth, kGptWidth);
}

Tensor block(Reader& parameters, const Tensor& x) {
  const auto batch = x.size(0), length = x.size(1), width = x.size(2);
  auto parts = linear(parameters, norm(parameters, x)).chunk(3, -1);
  for (auto& part : parts) part = part.view({batch, length, kHeads, width / kHeads}).transpose(1, 2);
  auto attention =
      at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
  auto h = x + linear(parameters, attention.transpose(1, 2).reshape({batch, length, width}));
  auto hidden = at::gelu(linear(parameters, norm(parameters, h)));
  return h + linear(parameters, hidden);
}

Tensor gpt(const Tensors& parameters, const Tensors& inputs) {
  Reader reader(parameters);
  auto h = at::embedding(reader.next(), inputs[0]);
  h = h + at::embedding(reader.next(), at::arange(inputs[0].size(1)));
  for (int64_t i = 0; i < kBlocks; ++i) h = block(reader, h);
  h = norm(reader, h);
  return at::cross_entropy_loss(at::linear(h, reader.next()).flatten(0, 1), inputs[1].flatten());
}

Workload make_gpt() {
  Workload out;
  out.parameters = {leaf(at::randn({kVocabulary, kGptWidth})), leaf(at::randn({kLength, kGptWidth}))};
  for (int64_t i = 0; i < kBlocks; ++i) make_block(out.parameters);
  make_norm(out.parameters, kGptWidth);
  make_linear(out.parameters, kGptWidth, kVocabulary, /*bias=*/false);
  for (int i = 0; i < 2; ++i) out.inputs.push_back(at::randint(0, kVocabulary, {kBatch, kLength}, at::kLong));
  out.loss = gpt;
  return out;
}

const std::map<std::string, Workload (*)()>& makers() {
  static const std::map<std::string, Workload (*)()> table{
      {"small", make_small}, {"mlp", make_wide}, {"pot", make_pot}, {"mem", make_mem}, {"gpt", make_gpt}};
  return table;
}

}  // namespace

std::vector<std::string> workload_names() { return {"small", "mlp", "pot", "mem", "gpt"}; }

Workload make_workload(const std::string& name) {
  auto out = makers().at(name)();
  out.name = name;
  return out;
}

}  // namespace antegrad::benchmarks
