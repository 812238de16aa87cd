// torch::nn: recurrent networks, transformers, containers, and torch::nn::utils.
#include "nn/rows.h"

namespace antegrad::test {
namespace {

using Inputs = std::vector<std::vector<NnInput>>;
using T = const Tensors&;

/// Sequences [time, batch, features].
const Inputs kSequences{{normal({5, 2, 4})}, {normal({4, 4, 4})}};
const Inputs kBatchFirst{{normal({2, 5, 4})}, {normal({4, 4, 4})}};
/// With the first state, for two layers of three features.
const Inputs kWithState{{normal({5, 2, 4}), normal({2, 2, 3})}, {normal({4, 4, 4}), normal({2, 4, 3})}};
const Inputs kCells{{normal({5, 4}), normal({5, 3})}, {normal({4, 4}), normal({4, 3})}};

template <size_t N = 1, class Make>
NnRow layer(const char* name, const Inputs& inputs, Make make) {
  return {name, [make] { return module_of<N>(make()); }, inputs};
}
template <class Make, class Call>
NnRow layer(const char* name, const Inputs& inputs, Make make, Call call) {
  return {name, [make, call] { return module_with(make(), call); }, inputs};
}
template <class Call>
NnRow function(const char* name, const Inputs& inputs, Call call) {
  return {name, [call] { return functional(call); }, inputs};
}

std::vector<NnRow> recurrent_rows() {
  const auto two_layers = [](auto options) { return options.num_layers(2).dropout(0.3); };
  return {
      layer("RNN", kSequences, [] { return nn::RNN(4, 3); }),
      layer<2>("RNN, two layers of ReLU, state", kWithState,
               [=] { return nn::RNN(two_layers(nn::RNNOptions(4, 3)).nonlinearity(torch::kReLU)); }),
      layer("LSTM", kSequences, [] { return nn::LSTM(4, 3); }),
      layer(
          "LSTM, two layers, dropout, state", {{normal({5, 2, 4}), normal({2, 2, 3}), normal({2, 2, 3})}},
          [=] { return nn::LSTM(two_layers(nn::LSTMOptions(4, 3))); },
          [](nn::LSTM& m, T t) { return m->forward(t[0], std::make_tuple(t[1], t[2])); }),
      layer(
          "LSTM, both directions, projected, batch first", kBatchFirst,
          [] { return nn::LSTM(nn::LSTMOptions(4, 5).proj_size(3).bidirectional(true).batch_first(true)); }),
      layer("LSTM, projected, two layers, dropout", kSequences,
            [=] { return nn::LSTM(two_layers(nn::LSTMOptions(4, 5).proj_size(2).bias(false))); }),
      layer("GRU", kSequences, [] { return nn::GRU(4, 3); }),
      layer<2>("GRU, two layers, dropout, state", kWithState,
               [=] { return nn::GRU(two_layers(nn::GRUOptions(4, 3))); }),
      layer("GRU, both directions, batch first", kBatchFirst,
            [] { return nn::GRU(nn::GRUOptions(4, 3).bidirectional(true).batch_first(true)); }),
      layer<2>("RNNCell", kCells, [] { return nn::RNNCell(4, 3); }),
      layer("RNNCell, no state", {{normal({5, 4})}}, [] { return nn::RNNCell(4, 3); }),
      layer("LSTMCell", {{normal({5, 4})}, {normal({4, 4})}}, [] { return nn::LSTMCell(4, 3); }),
      layer<2>("GRUCell", kCells, [] { return nn::GRUCell(4, 3); }),
  };
}

// --- transformers: masks of positions are added to the weights, masks of keys are true where a key is
// ignored

const Inputs kPairs{{normal({4, 2, 8}), normal({5, 2, 8})},
                    {normal({4, 2, 8}), normal({6, 2, 8})},
                    {normal({4, 2, 8}), normal({4, 2, 8})},
                    {normal({2, 2, 8}), normal({2, 2, 8})}};
const Inputs kEqualPairs{{normal({4, 2, 8}), normal({4, 2, 8})}, {normal({5, 2, 8}), normal({4, 2, 8})}};
const Inputs kWords{{normal({4, 2, 8})}, {normal({5, 2, 8})}, {normal({2, 2, 8})}};

nn::TransformerEncoderLayerOptions encoder_layer() {
  return nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(12).dropout(0.2);
}
nn::TransformerDecoderLayerOptions decoder_layer() {
  return nn::TransformerDecoderLayerOptions(8, 2).dim_feedforward(12).dropout(0.2);
}
nn::TransformerOptions transformer() {
  return nn::TransformerOptions(8, 2, 1, 1).dim_feedforward(12).dropout(0.1);
}
std::vector<NnRow> transformer_rows() {
  return {
      layer("TransformerEncoderLayer", kWords, [] { return nn::TransformerEncoderLayer(encoder_layer()); }),
      layer<3>("TransformerEncoderLayer, masks",
               {{normal({4, 2, 8}), normal({4, 4}), mask({2, 4})},
                {normal({3, 3, 8}), normal({3, 3}), mask({3, 3})}},
               [] { return nn::TransformerEncoderLayer(encoder_layer().activation(torch::kGELU)); }),
      layer<2>("TransformerDecoderLayer", kPairs,
               [] { return nn::TransformerDecoderLayer(decoder_layer()); }),
      layer<2>("TransformerDecoderLayer, equal sizes first", kEqualPairs,
               [] { return nn::TransformerDecoderLayer(decoder_layer()); }),
      layer(
          "TransformerDecoderLayer, masks",
          {{normal({4, 2, 8}), normal({5, 2, 8}), normal({4, 4}), normal({4, 5}), mask({2, 4}),
            mask({2, 5})}},
          [] { return nn::TransformerDecoderLayer(decoder_layer()); },
          [](nn::TransformerDecoderLayer& m, T t) { return m->forward(t[0], t[1], t[2], t[3], t[4], t[5]); }),
      layer("TransformerEncoder", kWords,
            [] {
              return nn::TransformerEncoder(
                  nn::TransformerEncoderOptions(encoder_layer(), 2)
                      .norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({8})))));
            }),
      layer<2>("TransformerDecoder", kPairs,
               [] { return nn::TransformerDecoder(nn::TransformerDecoderOptions(decoder_layer(), 2)); }),
      layer<2>("Transformer", kPairs, [] { return nn::Transformer(transformer()); }),
      layer(
          "Transformer, causal", kPairs, [] { return nn::Transformer(transformer()); },
          [](nn::Transformer& m, T t) {
            const auto causal = nn::TransformerImpl::generate_square_subsequent_mask(t[1].size(0));
            return m->forward(t[0], t[1], {}, causal);
          }),
      layer(
          "Transformer, masks of keys", {{normal({4, 2, 8}), normal({5, 2, 8}), mask({2, 4}), mask({2, 5})}},
          [] { return nn::Transformer(transformer()); },
          [](nn::Transformer& m, T t) { return m->forward(t[0], t[1], {}, {}, {}, t[2], t[3], t[2]); }),
  };
}

// --- containers: their parts are called

struct ContainerImpl : nn::Module {
  ContainerImpl() {
    list = register_module("list", nn::ModuleList(nn::Linear(4, 4), nn::Linear(4, 4)));
    torch::OrderedDict<std::string, std::shared_ptr<nn::Module>> parts;
    parts.insert("linear", nn::Linear(4, 2).ptr());
    dict = register_module("dict", nn::ModuleDict(parts));
    numbers = register_module("numbers", nn::ParameterList(torch::randn({4})));
    named = register_module("named", nn::ParameterDict());
    named->insert("scale", torch::randn({2}));
  }
  at::Tensor forward(at::Tensor x) {
    for (const auto& part : *list) x = part->as<nn::Linear>()->forward(x).relu();
    for (const auto& number : *numbers) x = x * number.value();
    return (*dict)["linear"]->as<nn::Linear>()->forward(x) * (*named)["scale"];
  }
  nn::ModuleList list;
  nn::ModuleDict dict;
  nn::ParameterList numbers;
  nn::ParameterDict named;
};
TORCH_MODULE(Container);

std::vector<NnRow> container_rows() {
  const Inputs matrix{{normal({5, 4})}, {normal({4, 4})}};
  std::vector<NnRow> rows{
      layer("Sequential", matrix,
            [] { return nn::Sequential(nn::Linear(4, 3), nn::Functional(torch::tanh), nn::BatchNorm1d(3)); }),
      layer("Functional", matrix, [] { return nn::Functional(torch::elu, 0.5, 1.0, 2.0); }),
  };
  for (const auto* name : {"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
    rows.push_back(layer(name, matrix, [] { return Container(); }));
  return rows;
}

// --- torch::nn::utils

namespace rnn = nn::utils::rnn;
const Inputs kPadded{{normal({5, 3, 4}), numbers({5, 3, 2})}, {normal({4, 2, 4}), numbers({4, 4})}};

/// Runs `use` on parameters that have gradients, and returns both.
template <class Use>
NnRow over_gradients(const char* name, Use use) {
  return function(name, {{normal({3, 4}), normal({3})}, {normal({4, 4}), normal({4})}}, [use](T t) {
    Tensors parameters;
    for (const auto& tensor : t) {
      parameters.push_back(tensor.detach() + 1);
      parameters.back().mutable_grad() = tensor.detach() * 3;
    }
    use(parameters);
    for (size_t i = 0; i < t.size(); ++i) parameters.push_back(parameters[i].grad() * 1);
    return parameters;
  });
}

std::vector<NnRow> utility_rows() {
  return {
      over_gradients("utils::clip_grad_value_",
                     [](const Tensors& p) { nn::utils::clip_grad_value_(p, 0.5); }),
      refused("reads the data", over_gradients("utils::clip_grad_norm_",
                                               [](const Tensors& p) { nn::utils::clip_grad_norm_(p, 0.5); })),
      function("utils::parameters_to_vector", {{normal({3, 4}), normal({3})}},
               [](T t) { return nn::utils::parameters_to_vector(t); }),
      refused("set_data()", function("utils::vector_to_parameters", {{normal({15})}},
                                     [](T t) {
                                       const Tensors parameters{torch::zeros({3, 4}), torch::zeros({3})};
                                       nn::utils::vector_to_parameters(t[0], parameters);
                                       return Tensors{parameters[0] * 2, parameters[1] * 3};
                                     })),
      function("utils::invert_permutation", {{numbers({2, 0, 1})}, {numbers({3, 0, 1, 2})}},
               [](T t) { return rnn::invert_permutation(t[0]); }),
      function("utils::pad_sequence",
               {{normal({5, 3}), normal({3, 3}), normal({1, 3})},
                {normal({3, 3}), normal({3, 3}), normal({3, 3})}},
               [](T t) { return rnn::pad_sequence(t, true, 0.5); }),
      refused("data", function("utils::pack_padded_sequence", kPadded,
                               [](T t) { return rnn::pack_padded_sequence(t[0], t[1]).data(); })),
      refused("data",
              function("utils::pad_packed_sequence", kPadded,
                       [](T t) { return rnn::pad_packed_sequence(rnn::pack_padded_sequence(t[0], t[1])); })),
      refused("data", function("utils::pack_sequence", {{normal({5, 3}), normal({3, 3}), normal({1, 3})}},
                               [](T t) { return rnn::pack_sequence(t).data(); })),
  };
}

const std::vector<NnRow>& rows() {
  static const auto& all = *new auto([] {
    auto list = recurrent_rows();
    for (const auto& more : {transformer_rows(), container_rows(), utility_rows()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }());
  return all;
}

class NnSequences : public ::testing::TestWithParam<NnRow> {};
TEST_P(NnSequences, SameAsEager) { expect_row_as_eager(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, NnSequences, ::testing::ValuesIn(rows()), nn_row_name);

TEST(NnSequenceHeaders, AreCovered) {
  expect_complete(rows(), {"modules/rnn.h", "modules/transformer.h", "modules/transformercoder.h",
                           "modules/transformerlayer.h", "modules/container/sequential.h",
                           "modules/container/functional.h", "modules/container/modulelist.h",
                           "modules/container/moduledict.h", "modules/container/parameterlist.h",
                           "modules/container/parameterdict.h", "utils/rnn.h", "utils/clip_grad.h",
                           "utils/convert_parameters.h"});
}

}  // namespace
}  // namespace antegrad::test
