// torch::nn: linear layers, convolutions, embeddings, normalization, images.
#include "nn/rows.h"

namespace antegrad::test {
namespace {

using Inputs = std::vector<std::vector<NnInput>>;

const Inputs kMatrix{{normal({5, 4})}, {normal({4, 4})}, {normal({6, 4})}};
const Inputs kSignal{{normal({2, 4, 9})}, {normal({4, 4, 4})}, {normal({3, 4, 7})}};
const Inputs kImage{{normal({2, 4, 6, 7})}, {normal({4, 4, 4, 4})}, {normal({3, 4, 5, 6})}};
const Inputs kVolume{{normal({2, 4, 5, 4, 6})}, {normal({4, 4, 4, 4, 4})}};
const Inputs kEvenImage{{normal({2, 4, 6, 8})}, {normal({4, 4, 4, 4})}};

template <class Make>
NnRow layer(const char* name, const Inputs& inputs, Make make) {
  return {name, [make] { return module_of(make()); }, inputs};
}
template <class Call>
NnRow function(const char* name, const Inputs& inputs, Call call) {
  return {name, [call] { return functional(call); }, inputs};
}
/// Inputs for a functional with a weight, in addition.
Inputs with(Inputs inputs, const std::vector<NnInput>& more) {
  for (auto& list : inputs) list.insert(list.end(), more.begin(), more.end());
  return inputs;
}
using T = const Tensors&;

std::vector<NnRow> linear_rows() {
  return {
      layer("Identity", kMatrix, [] { return nn::Identity(); }),
      layer("Linear", kMatrix, [] { return nn::Linear(4, 3); }),
      layer("Linear, without bias", kMatrix, [] { return nn::Linear(nn::LinearOptions(4, 4).bias(false)); }),
      layer("Flatten", kImage, [] { return nn::Flatten(nn::FlattenOptions().start_dim(2)); }),
      layer("Unflatten", kSignal,
            [] {
              return nn::Unflatten(nn::UnflattenOptions(1, {2, 2}));
            }),
      {"Bilinear",
       [] { return module_of<2>(nn::Bilinear(4, 3, 2)); },
       {{normal({5, 4}), normal({5, 3})}, {normal({4, 4}), normal({4, 3})}}},
      layer("Fold", {{normal({2, 8, 9})}, {normal({9, 8, 9})}},
            [] {
              return nn::Fold(nn::FoldOptions({4, 4}, {2, 2}));
            }),
      layer("Unfold", kImage,
            [] {
              return nn::Unfold(nn::UnfoldOptions({2, 3}).padding({1, 0}));
            }),
      layer("PixelShuffle", kImage, [] { return nn::PixelShuffle(2); }),
      layer("PixelUnshuffle", kEvenImage, [] { return nn::PixelUnshuffle(2); }),
      function("F::linear", with(kMatrix, {normal({3, 4}), normal({3})}),
               [](T t) { return F::linear(t[0], t[1], t[2]); }),
      function("F::bilinear", {{normal({5, 4}), normal({5, 3}), normal({2, 4, 3})}},
               [](T t) { return F::bilinear(t[0], t[1], t[2]); }),
      function("F::fold", {{normal({2, 8, 9})}},
               [](T t) {
                 return F::fold(t[0], F::FoldFuncOptions({4, 4}, {2, 2}));
               }),
      function("F::unfold", kImage,
               [](T t) {
                 return F::unfold(t[0], F::UnfoldFuncOptions({2, 2}).stride(2));
               }),
      function("F::pixel_shuffle", kImage,
               [](T t) { return F::pixel_shuffle(t[0], F::PixelShuffleFuncOptions(2)); }),
      function("F::pixel_unshuffle", kEvenImage,
               [](T t) { return F::pixel_unshuffle(t[0], F::PixelUnshuffleFuncOptions(2)); }),
  };
}

std::vector<NnRow> convolution_rows() {
  return {
      layer("Conv1d", kSignal, [] { return nn::Conv1d(nn::Conv1dOptions(4, 6, 3).padding(1).groups(2)); }),
      layer("Conv1d, circular", kSignal,
            [] { return nn::Conv1d(nn::Conv1dOptions(4, 2, 3).padding(1).padding_mode(torch::kCircular)); }),
      layer("Conv2d", kImage, [] { return nn::Conv2d(nn::Conv2dOptions(4, 4, 3).stride(2).padding(1)); }),
      layer("Conv2d, same, dilated, reflected", kImage,
            [] {
              return nn::Conv2d(nn::Conv2dOptions(4, 3, {3, 2})
                                    .padding(torch::kSame)
                                    .dilation(2)
                                    .padding_mode(torch::kReflect));
            }),
      layer("Conv2d, depthwise", kImage,
            [] { return nn::Conv2d(nn::Conv2dOptions(4, 4, 3).groups(4).bias(false)); }),
      layer("Conv3d", kVolume, [] { return nn::Conv3d(nn::Conv3dOptions(4, 3, 2)); }),
      layer("ConvTranspose1d", kSignal,
            [] { return nn::ConvTranspose1d(nn::ConvTranspose1dOptions(4, 3, 3).stride(2)); }),
      layer("ConvTranspose2d", kImage,
            [] {
              return nn::ConvTranspose2d(
                  nn::ConvTranspose2dOptions(4, 4, 3).stride(2).output_padding(1).groups(2));
            }),
      layer("ConvTranspose3d", kVolume, [] { return nn::ConvTranspose3d(4, 3, 2); }),
      function("F::conv1d", with(kSignal, {normal({3, 4, 3})}), [](T t) { return F::conv1d(t[0], t[1]); }),
      function("F::conv2d", with(kImage, {normal({3, 4, 3, 3})}),
               [](T t) { return F::conv2d(t[0], t[1], F::Conv2dFuncOptions().padding(torch::kSame)); }),
      function("F::conv3d", with(kVolume, {normal({3, 4, 2, 2, 2})}),
               [](T t) { return F::conv3d(t[0], t[1]); }),
      function("F::conv_transpose1d", with(kSignal, {normal({4, 3, 3})}),
               [](T t) { return F::conv_transpose1d(t[0], t[1]); }),
      function(
          "F::conv_transpose2d", with(kImage, {normal({4, 3, 3, 3})}),
          [](T t) { return F::conv_transpose2d(t[0], t[1], F::ConvTranspose2dFuncOptions().stride(2)); }),
      function("F::conv_transpose3d", with(kVolume, {normal({4, 3, 2, 2, 2})}),
               [](T t) { return F::conv_transpose3d(t[0], t[1]); }),
  };
}

const Inputs kWords{{integers({3, 5}, 7)}, {integers({4, 4}, 7)}, {integers({2, 6}, 7)}};
const Inputs kBags{{integers({6}, 7), numbers({0, 2, 5})}, {integers({4}, 7), numbers({0, 1, 1, 3})}};
template <class Options>
NnRow bags(const char* name, Options options) {
  return {name, [options] { return module_of<2>(nn::EmbeddingBag(options)); }, kBags};
}

std::vector<NnRow> embedding_rows() {
  return {
      layer("Embedding", kWords, [] { return nn::Embedding(7, 3); }),
      layer("Embedding, padding, by frequency", kWords,
            [] { return nn::Embedding(nn::EmbeddingOptions(7, 3).padding_idx(1).scale_grad_by_freq(true)); }),
      layer("Embedding, limited norm", kWords,
            [] { return nn::Embedding(nn::EmbeddingOptions(7, 3).max_norm(0.8)); }),
      refused("sparse", layer("Embedding, sparse", kWords,
                              [] { return nn::Embedding(nn::EmbeddingOptions(7, 3).sparse(true)); })),
      layer("Embedding, pretrained", kWords,
            [] {
              return nn::Embedding::from_pretrained(torch::randn({7, 3}));
            }),
      bags("EmbeddingBag", nn::EmbeddingBagOptions(7, 3)),
      bags("EmbeddingBag, sum", nn::EmbeddingBagOptions(7, 3).mode(torch::kSum).padding_idx(2)),
      bags("EmbeddingBag, max", nn::EmbeddingBagOptions(7, 3).mode(torch::kMax)),
      layer("EmbeddingBag, of rows", kWords, [] { return nn::EmbeddingBag(7, 3); }),
      {"EmbeddingBag, weights of samples",
       [] { return module_of<3>(nn::EmbeddingBag(nn::EmbeddingBagOptions(7, 3).mode(torch::kSum))); },
       {{integers({6}, 7), numbers({0, 2, 5}), normal({6})}}},
      function("F::one_hot", kWords, [](T t) { return F::one_hot(t[0], 7); }),
      function("F::embedding", with(kWords, {normal({7, 3})}), [](T t) { return F::embedding(t[0], t[1]); }),
      function("F::embedding_bag", {{integers({6}, 7), normal({7, 3}), numbers({0, 2, 5})}},
               [](T t) { return F::embedding_bag(t[0], t[1], F::EmbeddingBagFuncOptions().offsets(t[2])); }),
  };
}

std::vector<NnRow> normalization_rows() {
  return {
      layer("BatchNorm1d", kMatrix, [] { return nn::BatchNorm1d(4); }),
      refused("reads the data",
              layer("BatchNorm1d, cumulative", kSignal,
                    [] { return nn::BatchNorm1d(nn::BatchNorm1dOptions(4).momentum(std::nullopt)); })),
      layer("BatchNorm2d", kImage,
            [] { return nn::BatchNorm2d(nn::BatchNorm2dOptions(4).eps(1e-3).momentum(0.3)); }),
      layer(
          "BatchNorm2d, without statistics", kImage,
          [] { return nn::BatchNorm2d(nn::BatchNorm2dOptions(4).affine(false).track_running_stats(false)); }),
      layer("BatchNorm3d", kVolume, [] { return nn::BatchNorm3d(4); }),
      layer("InstanceNorm1d", kSignal,
            [] { return nn::InstanceNorm1d(nn::InstanceNorm1dOptions(4).affine(true)); }),
      layer("InstanceNorm2d", kImage,
            [] { return nn::InstanceNorm2d(nn::InstanceNorm2dOptions(4).track_running_stats(true)); }),
      layer("InstanceNorm3d", kVolume, [] { return nn::InstanceNorm3d(4); }),
      layer("LayerNorm", kMatrix, [] { return nn::LayerNorm(nn::LayerNormOptions({4})); }),
      layer("LayerNorm, two dims", {{normal({5, 3, 4})}, {normal({4, 3, 4})}},
            [] {
              return nn::LayerNorm(nn::LayerNormOptions({3, 4}).elementwise_affine(false));
            }),
      layer("LocalResponseNorm", kImage,
            [] { return nn::LocalResponseNorm(nn::LocalResponseNormOptions(2)); }),
      layer("CrossMapLRN2d", kImage, [] { return nn::CrossMapLRN2d(3); }),
      layer("GroupNorm", kImage, [] { return nn::GroupNorm(2, 4); }),
      function("F::batch_norm", kImage,
               [](T t) { return F::batch_norm(t[0], {}, {}, F::BatchNormFuncOptions().training(true)); }),
      function("F::instance_norm", kImage, [](T t) { return F::instance_norm(t[0]); }),
      function("F::layer_norm", kMatrix,
               [](T t) { return F::layer_norm(t[0], F::LayerNormFuncOptions({4})); }),
      function("F::local_response_norm", kSignal,
               [](T t) { return F::local_response_norm(t[0], F::LocalResponseNormFuncOptions(3)); }),
      function("F::group_norm", kImage, [](T t) { return F::group_norm(t[0], F::GroupNormFuncOptions(2)); }),
      function("F::normalize", kMatrix,
               [](T t) { return F::normalize(t[0], F::NormalizeFuncOptions().p(1).dim(-1)); }),
  };
}

std::vector<NnRow> padding_rows() {
  return {
      layer("ReflectionPad1d", kSignal, [] { return nn::ReflectionPad1d(2); }),
      layer("ReflectionPad2d", kImage,
            [] {
              return nn::ReflectionPad2d(nn::ReflectionPad2dOptions({1, 2, 0, 1}));
            }),
      layer("ReflectionPad3d", kVolume, [] { return nn::ReflectionPad3d(1); }),
      layer("ReplicationPad1d", kSignal, [] { return nn::ReplicationPad1d(2); }),
      layer("ReplicationPad2d", kImage, [] { return nn::ReplicationPad2d(1); }),
      layer("ReplicationPad3d", kVolume, [] { return nn::ReplicationPad3d(1); }),
      layer("ZeroPad1d", kSignal,
            [] {
              return nn::ZeroPad1d(nn::ZeroPad1dOptions({1, -2}));
            }),
      layer("ZeroPad2d", kImage, [] { return nn::ZeroPad2d(1); }),
      layer("ZeroPad3d", kVolume, [] { return nn::ZeroPad3d(1); }),
      layer("ConstantPad1d", kSignal, [] { return nn::ConstantPad1d(2, 3.5); }),
      layer("ConstantPad2d", kImage, [] { return nn::ConstantPad2d(1, -1.0); }),
      layer("ConstantPad3d", kVolume, [] { return nn::ConstantPad3d(1, 0.5); }),
      function("F::pad", kImage,
               [](T t) {
                 return F::pad(t[0], F::PadFuncOptions({1, 1, 2, 0}).mode(torch::kCircular));
               }),
  };
}

std::vector<NnRow> upsampling_rows() {
  using Mode = nn::UpsampleOptions;
  return {
      layer("Upsample", kImage,
            [] {
              return nn::Upsample(Mode().scale_factor(std::vector<double>{2, 1.5}));
            }),
      layer("Upsample, linear", kSignal,
            [] {
              return nn::Upsample(
                  Mode().size(std::vector<int64_t>{11}).mode(torch::kLinear).align_corners(false));
            }),
      layer("Upsample, bilinear", kImage,
            [] {
              return nn::Upsample(
                  Mode().scale_factor(std::vector<double>{2, 2}).mode(torch::kBilinear).align_corners(true));
            }),
      layer("Upsample, bicubic", kImage,
            [] {
              return nn::Upsample(
                  Mode().scale_factor(std::vector<double>{2, 2}).mode(torch::kBicubic).align_corners(false));
            }),
      layer("Upsample, trilinear", kVolume,
            [] {
              return nn::Upsample(Mode()
                                      .scale_factor(std::vector<double>{2, 2, 2})
                                      .mode(torch::kTrilinear)
                                      .align_corners(false));
            }),
      function("F::interpolate", kImage,
               [](T t) {
                 return F::interpolate(
                     t[0], F::InterpolateFuncOptions().size(std::vector<int64_t>{5, 9}).mode(torch::kArea));
               }),
      function("F::grid_sample",
               {{normal({2, 3, 4, 5}), normal({2, 3, 6, 2})}, {normal({2, 3, 4, 4}), normal({2, 4, 4, 2})}},
               [](T t) {
                 return F::grid_sample(
                     t[0], t[1] * 0.5,
                     F::GridSampleFuncOptions().padding_mode(torch::kBorder).align_corners(false));
               }),
      function("F::affine_grid", {{normal({2, 2, 3})}, {normal({3, 2, 3})}},
               [](T t) {
                 return F::affine_grid(t[0], {t[0].size(0), 1, 4, 5}, false);
               }),
  };
}

const std::vector<NnRow>& rows() {
  static const auto& all = *new auto([] {
    auto list = linear_rows();
    for (const auto& more :
         {convolution_rows(), embedding_rows(), normalization_rows(), padding_rows(), upsampling_rows()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }());
  return all;
}

class NnLayers : public ::testing::TestWithParam<NnRow> {};
TEST_P(NnLayers, SameAsEager) { expect_row_as_eager(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, NnLayers, ::testing::ValuesIn(rows()), nn_row_name);

TEST(NnLayerHeaders, AreCovered) {
  std::vector<std::string> headers{"functional/vision.h"};
  for (const std::string name : {"batchnorm", "conv", "embedding", "fold", "instancenorm", "linear",
                                 "normalization", "padding", "pixelshuffle", "upsampling"})
    for (const std::string folder : {"modules/", "functional/"}) headers.push_back(folder + name + ".h");
  expect_complete(rows(), headers);
}

TEST(NnHeaders, AreAllDocumented) { expect_all_headers(); }

}  // namespace
}  // namespace antegrad::test
