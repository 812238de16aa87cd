// torch::nn: pooling.
#include "nn/rows.h"

namespace antegrad::test {
namespace {

using Inputs = std::vector<std::vector<NnInput>>;
using T = const Tensors&;

const Inputs kSignal{{normal({2, 3, 8})}, {normal({4, 4, 4})}, {normal({3, 3, 6})}};
const Inputs kImage{{normal({2, 3, 6, 8})}, {normal({4, 4, 4, 4})}, {normal({3, 3, 8, 6})}};
const Inputs kVolume{{normal({2, 3, 4, 6, 8})}, {normal({4, 4, 4, 4, 4})}};

template <class Make>
NnRow pool(const char* name, const Inputs& inputs, Make make) {
  return {name, [make] { return module_of(make()); }, inputs};
}
/// Also returns the indices.
template <class Make>
NnRow pool_with_indices(const char* name, const Inputs& inputs, Make make) {
  return {name,
          [make] { return module_with(make(), [](auto& m, T t) { return m->forward_with_indices(t[0]); }); },
          inputs};
}
/// Unpools what `F::max_pool…` has pooled.
template <class Make, class Pool>
NnRow unpool(const char* name, const Inputs& inputs, Make make, Pool max_pool) {
  return {name,
          [make, max_pool] {
            return module_with(make(), [max_pool](auto& m, T t) {
              const auto [values, indices] = max_pool(t[0]);
              return m->forward(values, indices);
            });
          },
          inputs};
}
template <class Call>
NnRow function(const char* name, const Inputs& inputs, Call call) {
  return {name, [call] { return functional([call](T t) { return call(t[0]); }); }, inputs};
}

const auto max_pool1d = [](const at::Tensor& x) {
  return F::max_pool1d_with_indices(x, F::MaxPool1dFuncOptions(2));
};
const auto max_pool2d = [](const at::Tensor& x) {
  return F::max_pool2d_with_indices(x, F::MaxPool2dFuncOptions(2));
};
const auto max_pool3d = [](const at::Tensor& x) {
  return F::max_pool3d_with_indices(x, F::MaxPool3dFuncOptions(2));
};

std::vector<NnRow> modules() {
  return {
      pool("AvgPool1d", kSignal, [] { return nn::AvgPool1d(2); }),
      pool("AvgPool2d", kImage,
           [] {
             return nn::AvgPool2d(nn::AvgPool2dOptions(3).stride(2).padding(1).count_include_pad(false));
           }),
      pool("AvgPool3d", kVolume,
           [] { return nn::AvgPool3d(nn::AvgPool3dOptions(3).ceil_mode(true).stride(2)); }),
      pool("MaxPool1d", kSignal, [] { return nn::MaxPool1d(2); }),
      pool("MaxPool2d", kImage, [] { return nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)); }),
      pool("MaxPool3d", kVolume, [] { return nn::MaxPool3d(nn::MaxPool3dOptions(2).dilation(2)); }),
      pool_with_indices("MaxPool2d, with indices", kImage, [] { return nn::MaxPool2d(2); }),
      pool("AdaptiveMaxPool1d", kSignal, [] { return nn::AdaptiveMaxPool1d(3); }),
      pool("AdaptiveMaxPool2d", kImage,
           [] {
             return nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({3, 2}));
           }),
      pool("AdaptiveMaxPool3d", kVolume, [] { return nn::AdaptiveMaxPool3d(2); }),
      pool_with_indices("AdaptiveMaxPool2d, with indices", kImage, [] { return nn::AdaptiveMaxPool2d(2); }),
      pool("AdaptiveAvgPool1d", kSignal, [] { return nn::AdaptiveAvgPool1d(3); }),
      pool("AdaptiveAvgPool2d", kImage,
           [] {
             return nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({1, 1}));
           }),
      pool("AdaptiveAvgPool2d, one size kept", kImage,
           [] {
             return nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({3, std::nullopt}));
           }),
      pool("AdaptiveAvgPool3d", kVolume, [] { return nn::AdaptiveAvgPool3d(2); }),
      unpool(
          "MaxUnpool1d", kSignal, [] { return nn::MaxUnpool1d(2); }, max_pool1d),
      unpool(
          "MaxUnpool2d", kImage, [] { return nn::MaxUnpool2d(2); }, max_pool2d),
      unpool(
          "MaxUnpool3d", kVolume, [] { return nn::MaxUnpool3d(2); }, max_pool3d),
      pool("FractionalMaxPool2d", kImage,
           [] { return nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_size(3)); }),
      pool_with_indices("FractionalMaxPool2d, by ratio", kImage,
                        [] {
                          return nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_ratio(
                              torch::ExpandingArray<2, double>({0.5, 0.7})));
                        }),
      pool("FractionalMaxPool3d", kVolume,
           [] { return nn::FractionalMaxPool3d(nn::FractionalMaxPool3dOptions(2).output_size(2)); }),
      pool("LPPool1d", kSignal, [] { return nn::LPPool1d(nn::LPPool1dOptions(2, 2)); }),
      pool("LPPool2d", kImage, [] { return nn::LPPool2d(nn::LPPool2dOptions(3, 2)); }),
      pool("LPPool3d", kVolume, [] { return nn::LPPool3d(nn::LPPool3dOptions(2, 2)); }),
  };
}

using X = const at::Tensor&;
std::vector<NnRow> functionals() {
  return {
      function("F::avg_pool1d", kSignal, [](X x) { return F::avg_pool1d(x, F::AvgPool1dFuncOptions(2)); }),
      function("F::avg_pool2d", kImage, [](X x) { return F::avg_pool2d(x, F::AvgPool2dFuncOptions(2)); }),
      function("F::avg_pool3d", kVolume, [](X x) { return F::avg_pool3d(x, F::AvgPool3dFuncOptions(2)); }),
      function("F::max_pool1d", kSignal, [](X x) { return F::max_pool1d(x, F::MaxPool1dFuncOptions(2)); }),
      function("F::max_pool2d", kImage, [](X x) { return F::max_pool2d(x, F::MaxPool2dFuncOptions(2)); }),
      function("F::max_pool3d", kVolume, [](X x) { return F::max_pool3d(x, F::MaxPool3dFuncOptions(2)); }),
      function("F::max_pool1d_with_indices", kSignal, max_pool1d),
      function("F::max_pool2d_with_indices", kImage, max_pool2d),
      function("F::max_pool3d_with_indices", kVolume, max_pool3d),
      function("F::adaptive_max_pool1d", kSignal,
               [](X x) { return F::adaptive_max_pool1d(x, F::AdaptiveMaxPool1dFuncOptions(3)); }),
      function("F::adaptive_max_pool2d", kImage,
               [](X x) { return F::adaptive_max_pool2d(x, F::AdaptiveMaxPool2dFuncOptions(3)); }),
      function("F::adaptive_max_pool3d", kVolume,
               [](X x) { return F::adaptive_max_pool3d(x, F::AdaptiveMaxPool3dFuncOptions(3)); }),
      function(
          "F::adaptive_max_pool1d_with_indices", kSignal,
          [](X x) { return F::adaptive_max_pool1d_with_indices(x, F::AdaptiveMaxPool1dFuncOptions(3)); }),
      function(
          "F::adaptive_max_pool2d_with_indices", kImage,
          [](X x) { return F::adaptive_max_pool2d_with_indices(x, F::AdaptiveMaxPool2dFuncOptions(3)); }),
      function(
          "F::adaptive_max_pool3d_with_indices", kVolume,
          [](X x) { return F::adaptive_max_pool3d_with_indices(x, F::AdaptiveMaxPool3dFuncOptions(3)); }),
      function("F::adaptive_avg_pool1d", kSignal,
               [](X x) { return F::adaptive_avg_pool1d(x, F::AdaptiveAvgPool1dFuncOptions(3)); }),
      function("F::adaptive_avg_pool2d", kImage,
               [](X x) { return F::adaptive_avg_pool2d(x, F::AdaptiveAvgPool2dFuncOptions(3)); }),
      function("F::adaptive_avg_pool3d", kVolume,
               [](X x) { return F::adaptive_avg_pool3d(x, F::AdaptiveAvgPool3dFuncOptions(3)); }),
      function("F::max_unpool1d", kSignal,
               [](X x) {
                 const auto [values, indices] = max_pool1d(x);
                 return F::max_unpool1d(values, indices, F::MaxUnpool1dFuncOptions(2));
               }),
      function("F::max_unpool2d", kImage,
               [](X x) {
                 const auto [values, indices] = max_pool2d(x);
                 return F::max_unpool2d(values, indices,
                                        F::MaxUnpool2dFuncOptions(2).output_size(x.sizes().vec()));
               }),
      function("F::max_unpool3d", kVolume,
               [](X x) {
                 const auto [values, indices] = max_pool3d(x);
                 return F::max_unpool3d(values, indices, F::MaxUnpool3dFuncOptions(2));
               }),
      function("F::fractional_max_pool2d", kImage,
               [](X x) {
                 return F::fractional_max_pool2d(x, F::FractionalMaxPool2dFuncOptions(2).output_size(3));
               }),
      function("F::fractional_max_pool3d", kVolume,
               [](X x) {
                 return F::fractional_max_pool3d(x, F::FractionalMaxPool3dFuncOptions(2).output_size(2));
               }),
      function("F::fractional_max_pool2d_with_indices", kImage,
               [](X x) {
                 return F::fractional_max_pool2d_with_indices(
                     x, F::FractionalMaxPool2dFuncOptions(2).output_size(3));
               }),
      function("F::fractional_max_pool3d_with_indices", kVolume,
               [](X x) {
                 return F::fractional_max_pool3d_with_indices(
                     x, F::FractionalMaxPool3dFuncOptions(2).output_size(2));
               }),
      function("F::lp_pool1d", kSignal, [](X x) { return F::lp_pool1d(x, F::LPPool1dFuncOptions(2, 2)); }),
      function("F::lp_pool2d", kImage, [](X x) { return F::lp_pool2d(x, F::LPPool2dFuncOptions(2, 2)); }),
      function("F::lp_pool3d", kVolume, [](X x) { return F::lp_pool3d(x, F::LPPool3dFuncOptions(2, 2)); }),
  };
}

const std::vector<NnRow>& rows() {
  static const auto& all = *new auto([] {
    auto list = modules();
    const auto more = functionals();
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }());
  return all;
}

class NnPooling : public ::testing::TestWithParam<NnRow> {};
TEST_P(NnPooling, SameAsEager) { expect_row_as_eager(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, NnPooling, ::testing::ValuesIn(rows()), nn_row_name);

TEST(NnPoolingHeaders, AreCovered) { expect_complete(rows(), {"modules/pooling.h", "functional/pooling.h"}); }

}  // namespace
}  // namespace antegrad::test
