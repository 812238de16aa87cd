#include "more_workloads.h"

#include <cmath>

#include "layers.h"

namespace antegrad::benchmarks {
namespace {

using at::Tensor;

int64_t pick(Scale scale, int64_t full, int64_t small) { return scale == Scale::Full ? full : small; }

// --- resnet: the running statistics are inputs, two per norm, and are written to

void make_convolution(Tensors& parameters, int64_t in, int64_t out, int64_t size) {
  parameters.push_back(uniform_leaf({out, in, size, size}, in * size * size));
}

Tensor convolution(Reader& parameters, const Tensor& x, int64_t stride) {
  const auto& weight = parameters.next();
  return at::conv2d(x, weight, {}, stride, /*padding=*/weight.size(2) / 2);
}

void make_convolution_and_norm(Workload& out, int64_t from, int64_t to, int64_t size) {
  make_convolution(out.parameters, from, to, size);
  make_norm(out.parameters, to);
  out.inputs.push_back(at::zeros({to}));
  out.inputs.push_back(at::ones({to}));
}

Tensor convolution_and_norm(Reader& parameters, Reader& statistics, const Tensor& x, int64_t stride) {
  const auto y = convolution(parameters, x, stride);
  const auto &weight = parameters.next(), &bias = parameters.next();
  const auto &mean = statistics.next(), &variance = statistics.next();
  return at::batch_norm(y, weight, bias, mean, variance, /*training=*/true, /*momentum=*/0.1, /*eps=*/1e-5,
                        /*cudnn_enabled=*/false);
}

Tensor basic_block(Reader& parameters, Reader& statistics, const Tensor& x, int64_t stride) {
  auto y = at::relu(convolution_and_norm(parameters, statistics, x, stride));
  y = convolution_and_norm(parameters, statistics, y, 1);
  return at::relu(y + (stride == 1 ? x : convolution_and_norm(parameters, statistics, x, stride)));
}

Tensor resnet(const Tensors& parameters, const Tensors& inputs) {
  Reader reader(parameters), statistics(inputs);
  const auto& image = statistics.next();
  const auto& target = statistics.next();
  const auto y = basic_block(reader, statistics, image, 1);
  return at::mse_loss(basic_block(reader, statistics, y, 2), target);
}

Tensor resnet_block(const Tensors& parameters, const Tensors& inputs) {
  Reader reader(parameters), statistics(inputs);
  const auto& image = statistics.next();
  const auto& target = statistics.next();
  return at::mse_loss(basic_block(reader, statistics, image, 1), target);
}

// --- lstm

Tensor lstm(const Tensors& parameters, const Tensors& inputs) {
  Reader reader(parameters);
  const auto from_input = linear(reader, inputs[0]);  // for all steps at once
  const auto &recurrent = reader.next(), &readout = reader.next();
  const auto width = recurrent.size(1);
  auto h = at::zeros({inputs[0].size(1), width}, inputs[0].options()), c = h;
  for (int64_t t = 0; t < inputs[0].size(0); ++t) {
    const auto gates = (from_input[t] + at::mm(h, recurrent.t())).chunk(4, 1);
    c = at::sigmoid(gates[0]) * c + at::sigmoid(gates[1]) * at::tanh(gates[2]);
    h = at::sigmoid(gates[3]) * at::tanh(c);
  }
  return at::mse_loss(at::mm(h, readout.t()), inputs[1]);
}

// --- lstm_module and gru_module: what nn::LSTM and nn::GRU call

/// The weights and biases of a layer with so many gates.
void make_recurrent(Workload& out, int64_t gates, int64_t in, int64_t width) {
  for (const int64_t from : {in, width}) out.parameters.push_back(uniform_leaf({gates * width, from}, width));
  for (int i = 0; i < 2; ++i) out.parameters.push_back(uniform_leaf({gates * width}, width));
}

Tensor lstm_module(const Tensors& parameters, const Tensors& inputs) {
  const auto zeros = at::zeros({1, inputs[0].size(1), parameters[1].size(1)}, inputs[0].options());
  const auto results =
      at::lstm(inputs[0], {zeros, zeros}, parameters, /*has_biases=*/true, /*num_layers=*/1,
               /*dropout=*/0, /*train=*/true, /*bidirectional=*/false, /*batch_first=*/false);
  return at::mse_loss(std::get<0>(results), inputs[1]);
}

Tensor gru_module(const Tensors& parameters, const Tensors& inputs) {
  const auto zeros = at::zeros({1, inputs[0].size(1), parameters[1].size(1)}, inputs[0].options());
  const auto results = at::gru(inputs[0], zeros, parameters, /*has_biases=*/true, /*num_layers=*/1,
                               /*dropout=*/0, /*train=*/true, /*bidirectional=*/false, /*batch_first=*/false);
  return at::mse_loss(std::get<0>(results), inputs[1]);
}

Workload make_recurrent_module(Scale scale, int64_t gates) {
  const int64_t steps = pick(scale, 32, 5), batch = pick(scale, 32, 3), in = pick(scale, 256, 6),
                width = pick(scale, 256, 9);
  Workload out;
  make_recurrent(out, gates, in, width);
  out.inputs = {at::randn({steps, batch, in}), at::randn({steps, batch, width})};
  out.loss = gates == 4 ? lstm_module : gru_module;
  return out;
}

// --- vae

Tensor vae(const Tensors& parameters, const Tensors& inputs) {
  Reader reader(parameters);
  const auto& pixels = inputs[0];
  const auto encoded = linear(reader, at::relu(linear(reader, pixels))).chunk(2, 1);
  const auto &mean = encoded[0], &log_variance = encoded[1];
  const auto code = mean + at::randn_like(mean) * at::exp(0.5 * log_variance);
  const auto decoded = linear(reader, at::relu(linear(reader, code)));
  const auto unlikely = at::binary_cross_entropy_with_logits(decoded, pixels, {}, {}, at::Reduction::Sum);
  const auto divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum();
  return (unlikely + divergence) / pixels.size(0);
}

// --- attention

Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.view({x.size(0), heads, x.size(1) / heads}).transpose(0, 1);
}

Tensor attention(const Tensors& parameters, const Tensors& inputs, int64_t heads) {
  Reader reader(parameters);
  const auto queries = split_heads(linear(reader, inputs[0]), heads);
  const auto keys =
      split_heads(at::linear(inputs[1], reader.next()), heads);  // a bias of the keys would cancel in softmax
  const auto values = split_heads(linear(reader, inputs[1]), heads);
  const auto scale = 1 / std::sqrt(static_cast<double>(queries.size(2)));
  const auto weights = at::softmax(at::bmm(queries, keys.transpose(1, 2)) * scale, -1);
  const auto mixed = at::bmm(weights, values).transpose(0, 1).reshape(inputs[0].sizes());
  return at::mse_loss(linear(reader, mixed), inputs[2]);
}

// --- stencil

Tensor laplacian(const Tensor& u) {
  return at::roll(u, {1}, {0}) + at::roll(u, {-1}, {0}) + at::roll(u, {1}, {1}) + at::roll(u, {-1}, {1}) -
         4 * u;
}

Tensor wave(const Tensors& parameters, const Tensors& inputs) {
  constexpr int kSteps = 16;
  auto now = parameters[0], before = now;
  const auto courant = parameters[1].pow(2);
  for (int i = 0; i < kSteps; ++i) {
    auto next = 2 * now - before + courant * laplacian(now);
    before = now;
    now = next;
  }
  return (now - inputs[0]).pow(2).mean();
}

}  // namespace

Workload make_resnet(Scale scale) {
  const int64_t batch = pick(scale, 16, 3), channels = pick(scale, 32, 4), side = pick(scale, 32, 6);
  Workload out;
  out.inputs = {at::randn({batch, channels, side, side}),
                at::randn({batch, 2 * channels, side / 2, side / 2})};
  make_convolution_and_norm(out, channels, channels, 3);
  make_convolution_and_norm(out, channels, channels, 3);
  make_convolution_and_norm(out, channels, 2 * channels, 3);
  make_convolution_and_norm(out, 2 * channels, 2 * channels, 3);
  make_convolution_and_norm(out, channels, 2 * channels, 1);
  out.loss = resnet;
  return out;
}

Workload make_resnet_block(Scale scale) {
  const int64_t batch = pick(scale, 16, 3), channels = pick(scale, 64, 4), side = pick(scale, 16, 6);
  Workload out;
  out.inputs = {at::randn({batch, channels, side, side}), at::randn({batch, channels, side, side})};
  for (int i = 0; i < 2; ++i) make_convolution_and_norm(out, channels, channels, 3);
  out.loss = resnet_block;
  return out;
}

Workload make_lstm(Scale scale) {
  const int64_t steps = pick(scale, 32, 5), batch = pick(scale, 32, 3), in = pick(scale, 64, 6),
                width = pick(scale, 128, 9);
  Workload out;
  make_linear(out.parameters, in, 4 * width);
  make_linear(out.parameters, width, 4 * width, /*bias=*/false);
  make_linear(out.parameters, width, in, /*bias=*/false);
  out.inputs = {at::randn({steps, batch, in}), at::randn({batch, in})};
  out.loss = lstm;
  return out;
}

Workload make_lstm_module(Scale scale) { return make_recurrent_module(scale, 4); }
Workload make_gru_module(Scale scale) { return make_recurrent_module(scale, 3); }

Workload make_vae(Scale scale) {
  const int64_t batch = pick(scale, 128, 5), pixels = pick(scale, 784, 36), hidden = pick(scale, 400, 24),
                code = pick(scale, 20, 7);
  Workload out;
  make_linear(out.parameters, pixels, hidden);
  make_linear(out.parameters, hidden, 2 * code);
  make_linear(out.parameters, code, hidden);
  make_linear(out.parameters, hidden, pixels);
  out.inputs = {at::rand({batch, pixels})};
  out.loss = vae;
  return out;
}

Workload make_attention(Scale scale) {
  const int64_t queries = pick(scale, 256, 7), keys = pick(scale, 4096, 130), width = pick(scale, 256, 24),
                heads = pick(scale, 4, 2);
  Workload out;
  for (const bool bias : {true, false, true, true}) make_linear(out.parameters, width, width, bias);
  out.inputs = {at::randn({queries, width}), at::randn({keys, width}), at::randn({queries, width})};
  out.loss = [heads](const Tensors& parameters, const Tensors& inputs) {
    return attention(parameters, inputs, heads);
  };
  return out;
}

Workload make_stencil(Scale scale) {
  const int64_t side = pick(scale, 512, 11);
  Workload out;
  out.parameters = {leaf(at::randn({side, side})), leaf(at::rand({side, side}) * 0.5)};
  out.inputs = {at::randn({side, side})};
  out.loss = wave;
  return out;
}

}  // namespace antegrad::benchmarks
