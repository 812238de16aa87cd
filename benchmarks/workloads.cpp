#include "workloads.h"

#include <map>
#include <utility>

#include "layers.h"
#include "more_workloads.h"

namespace antegrad::benchmarks {
namespace {

using at::Tensor;

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
    for (int64_t layer = 0; layer < layers; ++layer) x = x + at::silu(linear(reader, layer_norm(reader, x)));
    return at::mse_loss(x, inputs[1]);
  };
  return out;
}
Workload make_small(Scale) { return make_mlp(8, 16, 4); }
Workload make_wide(Scale scale) {
  if (scale == Scale::Cuda) return make_mlp(4096, 1024, 6);
  return scale == Scale::Full ? make_mlp(256, 256, 6) : make_mlp(12, 40, 6);
}

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

Workload make_pot(Scale scale) {
  constexpr int64_t kFeatures = 32, kWidth = 64;
  const int64_t atoms = scale == Scale::Cuda ? 20'000 : scale == Scale::Full ? 2000 : 30, pairs = 20 * atoms;
  Workload out;
  out.parameters = {leaf(at::linspace(0.5, 5, kFeatures))};
  make_linear(out.parameters, kFeatures, kWidth);
  make_linear(out.parameters, kWidth, kWidth);
  make_linear(out.parameters, kWidth, 1);
  out.inputs = {leaf(at::rand({atoms, 3}) * 10), at::randint(0, atoms, {2, pairs}, at::kLong)};
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

Workload make_mem(Scale scale) {
  const int64_t rows = scale == Scale::Cuda ? 65'536 : scale == Scale::Full ? 4096 : 37;
  const int64_t width = scale == Scale::Small ? 72 : 1024;
  Workload out;
  out.parameters = {leaf(at::ones({width})), leaf(at::zeros({width}))};
  out.inputs = {at::randn({rows, width}), at::randn({rows, width})};
  out.loss = memory_bound;
  return out;
}

// --- gpt

struct GptSizes {
  int64_t vocabulary = 4096, width = 256, heads = 8, blocks = 4, batch = 4, length = 128;
};

void make_block(Tensors& parameters, int64_t width) {
  make_norm(parameters, width);
  make_linear(parameters, width, 3 * width);
  make_linear(parameters, width, width);
  make_norm(parameters, width);
  make_linear(parameters, width, 4 * width);
  make_linear(parameters, 4 * width, width);
}

Tensor block(Reader& parameters, const Tensor& x, int64_t heads) {
  const auto batch = x.size(0), length = x.size(1), width = x.size(2);
  auto parts = linear(parameters, layer_norm(parameters, x)).chunk(3, -1);
  for (auto& part : parts) part = part.view({batch, length, heads, width / heads}).transpose(1, 2);
  auto attention =
      at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
  auto h = x + linear(parameters, attention.transpose(1, 2).reshape({batch, length, width}));
  auto hidden = at::gelu(linear(parameters, layer_norm(parameters, h)));
  return h + linear(parameters, hidden);
}

Tensor gpt(const Tensors& parameters, const Tensors& inputs, const GptSizes& sizes) {
  Reader reader(parameters);
  auto h = at::embedding(reader.next(), inputs[0]);
  h = h + at::embedding(reader.next(), at::arange(inputs[0].size(1), inputs[0].options()));
  for (int64_t i = 0; i < sizes.blocks; ++i) h = block(reader, h, sizes.heads);
  h = layer_norm(reader, h);
  return at::cross_entropy_loss(at::linear(h, reader.next()).flatten(0, 1), inputs[1].flatten());
}

Workload make_gpt(Scale scale) {
  GptSizes sizes;
  if (scale == Scale::Small)
    sizes = {.vocabulary = 61, .width = 32, .heads = 4, .blocks = 2, .batch = 2, .length = 16};
  if (scale == Scale::Cuda)
    sizes = {.vocabulary = 50'304, .width = 768, .heads = 12, .blocks = 12, .batch = 16, .length = 1024};
  Workload out;
  out.parameters = {leaf(at::randn({sizes.vocabulary, sizes.width})),
                    leaf(at::randn({sizes.length, sizes.width}))};
  for (int64_t i = 0; i < sizes.blocks; ++i) make_block(out.parameters, sizes.width);
  make_norm(out.parameters, sizes.width);
  make_linear(out.parameters, sizes.width, sizes.vocabulary, /*bias=*/false);
  for (int i = 0; i < 2; ++i)
    out.inputs.push_back(at::randint(0, sizes.vocabulary, {sizes.batch, sizes.length}, at::kLong));
  out.loss = [sizes](const Tensors& parameters, const Tensors& inputs) {
    return gpt(parameters, inputs, sizes);
  };
  out.autocast = true;
  return out;
}

const std::map<std::string, Workload (*)(Scale)>& makers() {
  static const std::map<std::string, Workload (*)(Scale)> table{{"small", make_small},
                                                                {"mlp", make_wide},
                                                                {"pot", make_pot},
                                                                {"mem", make_mem},
                                                                {"gpt", make_gpt},
                                                                {"resnet", make_resnet},
                                                                {"lstm", make_lstm},
                                                                {"vae", make_vae},
                                                                {"attention", make_attention},
                                                                {"stencil", make_stencil},
                                                                {"resnet_block", make_resnet_block},
                                                                {"lstm_module", make_lstm_module},
                                                                {"gru_module", make_gru_module}};
  return table;
}

}  // namespace

std::vector<std::string> workload_names(WorkloadSet set) {
  std::vector<std::string> peers{"small", "mlp", "pot", "mem", "gpt"};
  const std::vector<std::string> more{"resnet",     "resnet_block", "lstm",      "lstm_module",
                                      "gru_module", "vae",          "attention", "stencil"};
  if (set == WorkloadSet::Peers) return peers;
  if (set == WorkloadSet::More) return more;
  peers.insert(peers.end(), more.begin(), more.end());
  return peers;
}

Workload make_workload(const std::string& name, Scale scale) {
  auto out = makers().at(name)(scale);
  out.name = name;
  return out;
}

void move_to(at::Device device, Workload& workload) {
  for (auto* tensors : {&workload.parameters, &workload.inputs})
    for (auto& tensor : *tensors)
      tensor = tensor.detach().to(device).set_requires_grad(tensor.requires_grad());
}

}  // namespace antegrad::benchmarks
