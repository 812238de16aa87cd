// torch::nn: activations, dropout, and attention.
#include "nn/rows.h"

namespace antegrad::test {
namespace {

using Inputs = std::vector<std::vector<NnInput>>;

const Inputs kMatrix{{normal({4, 6})}, {normal({4, 4})}, {normal({5, 6})}};
const Inputs kImage{{normal({2, 3, 4, 5})}, {normal({3, 3, 4, 4})}};
const Inputs kVolume{{normal({2, 3, 2, 3, 4})}, {normal({3, 3, 2, 2, 2})}};

template <class Make>
NnRow over_matrix(const char* name, Make make) {
  return {name, [make] { return module_of(make()); }, kMatrix};
}
template <class Call>
NnRow functional_over(const char* name, const Inputs& inputs, Call call) {
  return {name, [call] { return functional([call](const Tensors& t) { return call(t[0]); }); }, inputs};
}

std::vector<NnRow> activation_modules() {
  return {
      over_matrix("ELU", [] { return nn::ELU(nn::ELUOptions().alpha(0.7)); }),
      over_matrix("SELU", [] { return nn::SELU(); }),
      over_matrix("Hardshrink", [] { return nn::Hardshrink(0.3); }),
      over_matrix("Hardtanh", [] { return nn::Hardtanh(nn::HardtanhOptions().min_val(-0.5).max_val(0.7)); }),
      over_matrix("LeakyReLU", [] { return nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)); }),
      over_matrix("LogSigmoid", [] { return nn::LogSigmoid(); }),
      over_matrix("Softmax", [] { return nn::Softmax(1); }),
      over_matrix("Softmin", [] { return nn::Softmin(0); }),
      over_matrix("LogSoftmax", [] { return nn::LogSoftmax(1); }),
      {"Softmax2d", [] { return module_of(nn::Softmax2d()); }, kImage},
      over_matrix("PReLU", [] { return nn::PReLU(); }),
      {"PReLU, one weight per channel",
       [] { return module_of(nn::PReLU(nn::PReLUOptions().num_parameters(3))); }, kImage},
      over_matrix("ReLU", [] { return nn::ReLU(); }),
      over_matrix("ReLU6", [] { return nn::ReLU6(); }),
      over_matrix("RReLU", [] { return nn::RReLU(); }),
      over_matrix("CELU", [] { return nn::CELU(nn::CELUOptions().alpha(1.3)); }),
      over_matrix("GLU", [] { return nn::GLU(1); }),
      over_matrix("GELU", [] { return nn::GELU(); }),
      over_matrix("GELU, by tanh", [] { return nn::GELU(nn::GELUOptions().approximate("tanh")); }),
      over_matrix("SiLU", [] { return nn::SiLU(); }),
      over_matrix("Mish", [] { return nn::Mish(); }),
      over_matrix("Sigmoid", [] { return nn::Sigmoid(); }),
      over_matrix("Softplus", [] { return nn::Softplus(nn::SoftplusOptions().beta(0.5).threshold(3)); }),
      over_matrix("Softshrink", [] { return nn::Softshrink(0.4); }),
      over_matrix("Softsign", [] { return nn::Softsign(); }),
      over_matrix("Tanh", [] { return nn::Tanh(); }),
      over_matrix("Tanhshrink", [] { return nn::Tanhshrink(); }),
      over_matrix("Threshold", [] { return nn::Threshold(0.1, 20); }),
      over_matrix("Dropout", [] { return nn::Dropout(0.4); }),
      {"Dropout2d", [] { return module_of(nn::Dropout2d(0.4)); }, kImage},
      {"Dropout3d", [] { return module_of(nn::Dropout3d(0.4)); }, kVolume},
      over_matrix("AlphaDropout", [] { return nn::AlphaDropout(0.4); }),
      {"FeatureAlphaDropout", [] { return module_of(nn::FeatureAlphaDropout(0.4)); }, kImage},
  };
}

/// Modules that write to their input, which is then no leaf.
template <class M>
NnRow in_place(const char* name, M module) {
  return {name,
          [module] {
            return module_with(module, [](M& m, const Tensors& t) { return m->forward(t[0] * 2) + 1; });
          },
          kMatrix};
}
std::vector<NnRow> in_place_modules() {
  return {
      in_place("ELU, in place", nn::ELU(nn::ELUOptions().inplace(true))),
      in_place("SELU, in place", nn::SELU(nn::SELUOptions().inplace(true))),
      in_place("Hardtanh, in place", nn::Hardtanh(nn::HardtanhOptions().inplace(true))),
      in_place("LeakyReLU, in place", nn::LeakyReLU(nn::LeakyReLUOptions().inplace(true))),
      in_place("ReLU, in place", nn::ReLU(nn::ReLUOptions().inplace(true))),
      in_place("ReLU6, in place", nn::ReLU6(nn::ReLU6Options().inplace(true))),
      in_place("RReLU, in place", nn::RReLU(nn::RReLUOptions().inplace(true))),
      in_place("CELU, in place", nn::CELU(nn::CELUOptions().inplace(true))),
      in_place("Threshold, in place", nn::Threshold(nn::ThresholdOptions(0.1, 20).inplace(true))),
      in_place("Dropout, in place", nn::Dropout(nn::DropoutOptions(0.4).inplace(true))),
      in_place("AlphaDropout, in place", nn::AlphaDropout(nn::AlphaDropoutOptions(0.4).inplace(true))),
  };
}

using T = const at::Tensor&;
std::vector<NnRow> activation_functionals() {
  return {
      functional_over("F::elu", kMatrix, [](T x) { return F::elu(x, F::ELUFuncOptions().alpha(0.42)); }),
      functional_over("F::selu", kMatrix, [](T x) { return F::selu(x); }),
      functional_over("F::hardshrink", kMatrix, [](T x) { return F::hardshrink(x); }),
      functional_over("F::hardtanh", kMatrix, [](T x) { return F::hardtanh(x); }),
      functional_over("F::leaky_relu", kMatrix, [](T x) { return F::leaky_relu(x); }),
      functional_over("F::logsigmoid", kMatrix, [](T x) { return F::logsigmoid(x); }),
      functional_over("F::gumbel_softmax", kMatrix,
                      [](T x) { return F::gumbel_softmax(x, F::GumbelSoftmaxFuncOptions().tau(0.7)); }),
      functional_over("F::gumbel_softmax, hard", kMatrix,
                      [](T x) { return F::gumbel_softmax(x, F::GumbelSoftmaxFuncOptions().hard(true)); }),
      functional_over("F::softmax", kMatrix, [](T x) { return F::softmax(x, 1); }),
      functional_over("F::softmin", kMatrix, [](T x) { return F::softmin(x, 0); }),
      functional_over("F::log_softmax", kMatrix,
                      [](T x) { return F::log_softmax(x, F::LogSoftmaxFuncOptions(1).dtype(at::kDouble)); }),
      functional_over("F::glu", kMatrix, [](T x) { return F::glu(x, 1); }),
      functional_over("F::gelu", kMatrix, [](T x) { return F::gelu(x); }),
      functional_over("F::silu", kMatrix, [](T x) { return F::silu(x); }),
      functional_over("F::mish", kMatrix, [](T x) { return F::mish(x); }),
      functional_over("F::relu", kMatrix, [](T x) { return F::relu(x); }),
      functional_over("F::relu6", kMatrix, [](T x) { return F::relu6(x); }),
      functional_over("F::rrelu", kMatrix,
                      [](T x) { return F::rrelu(x, F::RReLUFuncOptions().training(true)); }),
      functional_over("F::celu", kMatrix, [](T x) { return F::celu(x); }),
      functional_over("F::softplus", kMatrix, [](T x) { return F::softplus(x); }),
      functional_over("F::softshrink", kMatrix, [](T x) { return F::softshrink(x); }),
      functional_over("F::softsign", kMatrix, [](T x) { return F::softsign(x); }),
      functional_over("F::tanhshrink", kMatrix, [](T x) { return F::tanhshrink(x); }),
      functional_over("F::threshold", kMatrix,
                      [](T x) { return F::threshold(x, F::ThresholdFuncOptions(0.5, 3)); }),
      {"F::prelu",
       [] { return functional([](const Tensors& t) { return F::prelu(t[0], t[1]); }); },
       {{normal({2, 3, 4}), normal({3})}, {normal({3, 3, 3}), normal({3})}}},
      functional_over("F::dropout", kMatrix,
                      [](T x) { return F::dropout(x, F::DropoutFuncOptions().p(0.4)); }),
      functional_over("F::dropout2d", kImage, [](T x) { return F::dropout2d(x); }),
      functional_over("F::dropout3d", kVolume, [](T x) { return F::dropout3d(x); }),
      functional_over("F::alpha_dropout", kMatrix,
                      [](T x) { return F::alpha_dropout(x, F::AlphaDropoutFuncOptions().training(true)); }),
      functional_over("F::feature_alpha_dropout", kImage,
                      [](T x) {
                        return F::feature_alpha_dropout(x,
                                                        F::FeatureAlphaDropoutFuncOptions().training(true));
                      }),
  };
}

// --- attention: query [L, N, E], key and value [S, N, E]; masks of keys are true where a key is ignored

using Attention = nn::MultiheadAttention;

template <class Call>
NnRow attention(const char* name, nn::MultiheadAttentionOptions options, Inputs inputs, Call call) {
  return {name, [options, call] { return module_with(Attention(options), call); }, std::move(inputs)};
}

std::vector<NnRow> attention_rows() {
  const nn::MultiheadAttentionOptions plain(8, 2);
  const Inputs unequal_then_equal{{normal({4, 2, 8}), normal({5, 2, 8})},
                                  {normal({4, 2, 8}), normal({6, 2, 8})},
                                  {normal({4, 2, 8}), normal({4, 2, 8})},
                                  {normal({2, 2, 8}), normal({2, 2, 8})}};
  const Inputs equal_then_unequal{{normal({4, 2, 8}), normal({4, 2, 8})},
                                  {normal({4, 2, 8}), normal({5, 2, 8})}};
  const auto cross = [](Attention& m, const Tensors& t) { return m->forward(t[0], t[1], t[1]); };
  return {
      attention("MultiheadAttention", plain, unequal_then_equal, cross),
      attention("MultiheadAttention, equal sizes first", plain, equal_then_unequal, cross),
      attention("MultiheadAttention, of equal values", plain, equal_then_unequal,
                [](Attention& m, const Tensors& t) { return m->forward(t[0], t[1], t[1] * 1); }),
      attention("MultiheadAttention, of copies", plain, {{normal({4, 2, 8})}, {normal({5, 2, 8})}},
                [](Attention& m, const Tensors& t) { return m->forward(t[0], t[0] + 0, t[0].clone()); }),
      attention("MultiheadAttention, self", plain,
                {{normal({4, 2, 8})}, {normal({5, 2, 8})}, {normal({2, 2, 8})}},
                [](Attention& m, const Tensors& t) { return m->forward(t[0], t[0], t[0]); }),
      attention(
          "MultiheadAttention, masks", plain,
          {{normal({4, 2, 8}), normal({5, 2, 8}), mask({2, 5}), normal({4, 5})},
           {normal({4, 3, 8}), normal({4, 3, 8}), mask({3, 4}), normal({4, 4})}},
          [](Attention& m, const Tensors& t) { return m->forward(t[0], t[1], t[1], t[2], true, t[3]); }),
      attention(
          "MultiheadAttention, without weights, averaged", plain, unequal_then_equal,
          [](Attention& m, const Tensors& t) { return m->forward(t[0], t[1], t[1], {}, false, {}, false); }),
      attention("MultiheadAttention, dropout, bias_kv, zero_attn",
                nn::MultiheadAttentionOptions(8, 2).dropout(0.3).add_bias_kv(true).add_zero_attn(true),
                unequal_then_equal, cross),
      attention("MultiheadAttention, other widths",
                nn::MultiheadAttentionOptions(8, 2).kdim(6).vdim(6).bias(false),
                {{normal({4, 2, 8}), normal({5, 2, 6}), normal({5, 2, 6})},
                 {normal({4, 2, 8}), normal({4, 2, 6}), normal({4, 2, 6})}},
                [](Attention& m, const Tensors& t) { return m->forward(t[0], t[1], t[2]); }),
      {"F::multi_head_attention_forward",
       [] {
         return functional([](const Tensors& t) {
           F::MultiheadAttentionForwardFuncOptions options(8, 2, t[2], t[3], {}, {}, false, 0.0, t[4], t[5]);
           return F::multi_head_attention_forward(t[0], t[1], t[1], options);
         });
       },
       {{normal({4, 2, 8}), normal({5, 2, 8}), normal({24, 8}), normal({24}), normal({8, 8}), normal({8})},
        {normal({4, 2, 8}), normal({4, 2, 8}), normal({24, 8}), normal({24}), normal({8, 8}), normal({8})}}},
  };
}

const std::vector<NnRow>& rows() {
  static const auto& all = *new auto([] {
    auto list = activation_modules();
    for (const auto& more : {in_place_modules(), activation_functionals(), attention_rows()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }());
  return all;
}

class NnActivations : public ::testing::TestWithParam<NnRow> {};
TEST_P(NnActivations, SameAsEager) { expect_row_as_eager(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, NnActivations, ::testing::ValuesIn(rows()), nn_row_name);

TEST(NnActivationHeaders, AreCovered) {
  expect_complete(rows(), {"modules/activation.h", "modules/dropout.h", "functional/activation.h",
                           "functional/dropout.h"});
}

}  // namespace
}  // namespace antegrad::test
