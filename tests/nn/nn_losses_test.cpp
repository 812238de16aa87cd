// torch::nn: losses and distances.
#include "nn/rows.h"

namespace antegrad::test {
namespace {

using Inputs = std::vector<std::vector<NnInput>>;

const Inputs kPair{
    {normal({4, 6}), normal({4, 6})}, {normal({4, 4}), normal({4, 4})}, {normal({3, 6}), normal({3, 6})}};
const Inputs kClasses{{normal({4, 6}), integers({4}, 6)},
                      {normal({6, 6}), integers({6}, 6)},
                      {normal({3, 6}), integers({3}, 6)}};
const Inputs kPixels{{normal({2, 3, 4, 5}), integers({2, 4, 5}, 3)},
                     {normal({3, 3, 3, 3}), integers({3, 3, 3}, 3)}};
const Inputs kChances{{unit({4, 6}), unit({4, 6})}, {unit({4, 4}), unit({4, 4})}};
const Inputs kSigned{{normal({4, 6}), signs({4, 6})}, {normal({4, 4}), signs({4, 4})}};
const Inputs kBits{{normal({4, 6}), integers({4, 6}, 2)}, {normal({4, 4}), integers({4, 4}, 2)}};
const Inputs kTriplet{{normal({4, 6}), normal({4, 6}), normal({4, 6})},
                      {normal({4, 4}), normal({4, 4}), normal({4, 4})}};
const Inputs kRanked{{normal({5}), normal({5}), signs({5})}, {normal({3}), normal({3}), signs({3})}};
const Inputs kTwoSets{{normal({4, 6}), normal({4, 6}), signs({4})},
                      {normal({4, 4}), normal({4, 4}), signs({4})}};
/// Log-probabilities [T, N, C], targets [N, S], lengths of inputs and targets.
const Inputs kAlignment{{normal({6, 2, 4}),
                         [] {
                           return torch::randint(1, 4, {2, 3}, at::kLong);
                         },
                         numbers({6, 5}), numbers({3, 2})},
                        {normal({5, 2, 4}),
                         [] {
                           return torch::randint(1, 4, {2, 3}, at::kLong);
                         },
                         numbers({5, 5}), numbers({2, 3})}};

template <size_t N = 2, class Make>
NnRow loss(const char* name, const Inputs& inputs, Make make) {
  return {name, [make] { return module_of<N>(make()); }, inputs};
}
template <class Call>
NnRow function(const char* name, const Inputs& inputs, Call call) {
  return {name, [call] { return functional(call); }, inputs};
}
at::Tensor weights(int64_t classes) { return torch::linspace(0.5, 1.5, classes); }

std::vector<NnRow> modules() {
  return {
      loss("L1Loss", kPair, [] { return nn::L1Loss(); }),
      loss("L1Loss, none", kPair, [] { return nn::L1Loss(nn::L1LossOptions(torch::kNone)); }),
      loss("KLDivLoss", kChances,
           [] { return nn::KLDivLoss(nn::KLDivLossOptions().reduction(torch::kBatchMean)); }),
      loss("KLDivLoss, log target", kPair,
           [] { return nn::KLDivLoss(nn::KLDivLossOptions().reduction(torch::kSum).log_target(true)); }),
      loss("MSELoss", kPair, [] { return nn::MSELoss(); }),
      loss("MSELoss, sum", kPair, [] { return nn::MSELoss(nn::MSELossOptions(torch::kSum)); }),
      loss("BCELoss", kChances, [] { return nn::BCELoss(); }),
      loss("BCELoss, weights", {{unit({4, 6}), unit({4, 6})}, {unit({6, 6}), unit({6, 6})}},
           [] { return nn::BCELoss(nn::BCELossOptions().weight(weights(6))); }),
      loss("HingeEmbeddingLoss", kSigned,
           [] { return nn::HingeEmbeddingLoss(nn::HingeEmbeddingLossOptions().margin(2)); }),
      loss("MultiMarginLoss", kClasses,
           [] { return nn::MultiMarginLoss(nn::MultiMarginLossOptions().margin(0.5).weight(weights(6))); }),
      loss<3>("CosineEmbeddingLoss", kTwoSets,
              [] { return nn::CosineEmbeddingLoss(nn::CosineEmbeddingLossOptions().margin(0.5)); }),
      loss("SmoothL1Loss", kPair, [] { return nn::SmoothL1Loss(nn::SmoothL1LossOptions().beta(0.5)); }),
      loss("HuberLoss", kPair, [] { return nn::HuberLoss(nn::HuberLossOptions().delta(0.5)); }),
      loss("MultiLabelMarginLoss",
           {{normal({3, 5}),
             [] {
               return torch::tensor({{3, 0, -1, 1, 2}, {1, -1, 2, 0, 0}, {4, 3, 2, 1, 0}});
             }}},
           [] { return nn::MultiLabelMarginLoss(); }),
      loss("SoftMarginLoss", kSigned, [] { return nn::SoftMarginLoss(); }),
      loss("MultiLabelSoftMarginLoss", kBits, [] { return nn::MultiLabelSoftMarginLoss(); }),
      loss<3>("TripletMarginLoss", kTriplet,
              [] { return nn::TripletMarginLoss(nn::TripletMarginLossOptions().swap(true)); }),
      loss<3>("TripletMarginWithDistanceLoss", kTriplet, [] { return nn::TripletMarginWithDistanceLoss(); }),
      loss<3>("TripletMarginWithDistanceLoss, distance", kTriplet,
              [] {
                return nn::TripletMarginWithDistanceLoss(
                    nn::TripletMarginWithDistanceLossOptions().distance_function(
                        [](const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().sum(1); }));
              }),
      refused("depends on the data", {"CTCLoss",
                                      [] {
                                        return module_with(
                                            nn::CTCLoss(), [](nn::CTCLoss& m, const Tensors& t) {
                                              return m->forward(t[0].log_softmax(2), t[1], t[2], t[3]);
                                            });
                                      },
                                      kAlignment}),
      refused("depends on the data",
              {"AdaptiveLogSoftmaxWithLoss",
               [] {
                 return module_with(nn::AdaptiveLogSoftmaxWithLoss(
                                        nn::AdaptiveLogSoftmaxWithLossOptions(4, 9, {3, 6}).div_value(2)),
                                    [](nn::AdaptiveLogSoftmaxWithLoss& m, const Tensors& t) {
                                      return m->forward(t[0], t[1]).output;
                                    });
               },
               {{normal({5, 4}), integers({5}, 9)}}}),
      {"AdaptiveLogSoftmaxWithLoss, of all classes",
       [] {
         return module_with(
             nn::AdaptiveLogSoftmaxWithLoss(nn::AdaptiveLogSoftmaxWithLossOptions(4, 9, {3, 6}).div_value(2)),
             [](nn::AdaptiveLogSoftmaxWithLoss& m, const Tensors& t) { return m->log_prob(t[0]); });
       },
       {{normal({5, 4})}, {normal({4, 4})}}},
      loss("PoissonNLLLoss", {{normal({4, 6}), integers({4, 6}, 4)}, {normal({4, 4}), integers({4, 4}, 4)}},
           [] { return nn::PoissonNLLLoss(nn::PoissonNLLLossOptions().full(true)); }),
      loss<3>("MarginRankingLoss", kRanked,
              [] { return nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.3)); }),
      loss("NLLLoss", kClasses, [] { return nn::NLLLoss(); }),
      loss("NLLLoss, weights, ignored, sum", kClasses,
           [] {
             return nn::NLLLoss(
                 nn::NLLLossOptions().weight(weights(6)).ignore_index(2).reduction(torch::kSum));
           }),
      loss("NLLLoss, pixels", kPixels, [] { return nn::NLLLoss(); }),
      loss("CrossEntropyLoss", kClasses, [] { return nn::CrossEntropyLoss(); }),
      loss("CrossEntropyLoss, smoothed, weights, ignored", kClasses,
           [] {
             return nn::CrossEntropyLoss(
                 nn::CrossEntropyLossOptions().weight(weights(6)).ignore_index(2).label_smoothing(0.1));
           }),
      loss("CrossEntropyLoss, pixels", kPixels, [] { return nn::CrossEntropyLoss(); }),
      loss("CrossEntropyLoss, of chances", kChances, [] { return nn::CrossEntropyLoss(); }),
      loss("BCEWithLogitsLoss", {{normal({4, 6}), unit({4, 6})}, {normal({6, 6}), unit({6, 6})}},
           [] {
             return nn::BCEWithLogitsLoss(
                 nn::BCEWithLogitsLossOptions().weight(weights(6)).pos_weight(weights(6)));
           }),
      loss("CosineSimilarity", kPair,
           [] { return nn::CosineSimilarity(nn::CosineSimilarityOptions().dim(1)); }),
      loss("PairwiseDistance", kPair,
           [] { return nn::PairwiseDistance(nn::PairwiseDistanceOptions().p(1.5).keepdim(true)); }),
  };
}

using T = const Tensors&;
std::vector<NnRow> functionals() {
  return {
      function("F::l1_loss", kPair, [](T t) { return F::l1_loss(t[0], t[1]); }),
      function("F::kl_div", kChances, [](T t) { return F::kl_div(t[0].log(), t[1]); }),
      function("F::mse_loss", kPair, [](T t) { return F::mse_loss(t[0], t[1]); }),
      function("F::binary_cross_entropy", kChances, [](T t) { return F::binary_cross_entropy(t[0], t[1]); }),
      function("F::hinge_embedding_loss", kSigned, [](T t) { return F::hinge_embedding_loss(t[0], t[1]); }),
      function("F::multi_margin_loss", kClasses, [](T t) { return F::multi_margin_loss(t[0], t[1]); }),
      function("F::cosine_embedding_loss", kTwoSets,
               [](T t) { return F::cosine_embedding_loss(t[0], t[1], t[2]); }),
      function("F::smooth_l1_loss", kPair,
               [](T t) { return F::smooth_l1_loss(t[0], t[1], F::SmoothL1LossFuncOptions().beta(0)); }),
      function("F::huber_loss", kPair, [](T t) { return F::huber_loss(t[0], t[1]); }),
      function("F::multilabel_margin_loss",
               {{normal({2, 3}),
                 [] {
                   return torch::tensor({{1, -1, 0}, {2, 0, -1}});
                 }}},
               [](T t) { return F::multilabel_margin_loss(t[0], t[1]); }),
      function("F::soft_margin_loss", kSigned, [](T t) { return F::soft_margin_loss(t[0], t[1]); }),
      function("F::multilabel_soft_margin_loss", kBits,
               [](T t) { return F::multilabel_soft_margin_loss(t[0], t[1]); }),
      function("F::triplet_margin_loss", kTriplet,
               [](T t) { return F::triplet_margin_loss(t[0], t[1], t[2]); }),
      function("F::triplet_margin_with_distance_loss", kTriplet,
               [](T t) {
                 return F::triplet_margin_with_distance_loss(
                     t[0], t[1], t[2], F::TripletMarginWithDistanceLossFuncOptions().swap(true));
               }),
      refused("depends on the data", function("F::ctc_loss", kAlignment,
                                              [](T t) {
                                                return F::ctc_loss(
                                                    t[0].log_softmax(2), t[1], t[2], t[3],
                                                    F::CTCLossFuncOptions().zero_infinity(true));
                                              })),
      function("F::poisson_nll_loss", kPair, [](T t) { return F::poisson_nll_loss(t[0], t[1].exp()); }),
      function("F::margin_ranking_loss", kRanked,
               [](T t) { return F::margin_ranking_loss(t[0], t[1], t[2]); }),
      function("F::nll_loss", kClasses, [](T t) { return F::nll_loss(t[0].log_softmax(1), t[1]); }),
      function("F::cross_entropy", kClasses, [](T t) { return F::cross_entropy(t[0], t[1]); }),
      function("F::cross_entropy, none", kClasses,
               [](T t) {
                 return F::cross_entropy(t[0], t[1], F::CrossEntropyFuncOptions().reduction(torch::kNone));
               }),
      function("F::binary_cross_entropy_with_logits", kChances,
               [](T t) { return F::binary_cross_entropy_with_logits(t[0], t[1]); }),
      function("F::cosine_similarity", kPair, [](T t) { return F::cosine_similarity(t[0], t[1]); }),
      function("F::pairwise_distance", kPair, [](T t) { return F::pairwise_distance(t[0], t[1]); }),
      function("F::pdist", {{normal({4, 6})}, {normal({6, 6})}}, [](T t) { return F::pdist(t[0]); }),
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

class NnLosses : public ::testing::TestWithParam<NnRow> {};
TEST_P(NnLosses, SameAsEager) { expect_row_as_eager(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, NnLosses, ::testing::ValuesIn(rows()), nn_row_name);

TEST(NnLossHeaders, AreCovered) {
  expect_complete(rows(), {"modules/loss.h", "modules/adaptive.h", "modules/distance.h", "functional/loss.h",
                           "functional/distance.h"});
}

}  // namespace
}  // namespace antegrad::test
