#pragma once
// A small GPT over characters, and the text that it learns, for the examples that train it.
#include <torch/torch.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace gpt {

using at::Tensor;
namespace nn = torch::nn;

constexpr int64_t kLayers = 2, kHeads = 4, kWidth = 64, kContext = 64, kBatch = 16;

struct BlockImpl : nn::Module {
  BlockImpl() {
    register_module("norm1", norm1);
    register_module("qkv", qkv);
    register_module("project", project);
    register_module("norm2", norm2);
    register_module("mlp", mlp);
  }
  Tensor forward(const Tensor& x) {
    const auto batch = x.size(0), length = x.size(1);
    auto heads = [&](const Tensor& t) {
      return t.view({batch, length, kHeads, kWidth / kHeads}).transpose(1, 2);
    };
    auto parts = qkv->forward(norm1->forward(x)).chunk(3, -1);
    auto attention = at::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), {},
                                                      /*dropout_p=*/0.0, /*is_causal=*/true);
    auto h = x + project->forward(attention.transpose(1, 2).reshape({batch, length, kWidth}));
    return h + mlp->forward(norm2->forward(h));
  }
  nn::LayerNorm norm1{nn::LayerNormOptions({kWidth})}, norm2{nn::LayerNormOptions({kWidth})};
  nn::Linear qkv{kWidth, 3 * kWidth}, project{kWidth, kWidth};
  nn::Sequential mlp{nn::Linear(kWidth, 4 * kWidth), nn::GELU(), nn::Linear(4 * kWidth, kWidth)};
};
TORCH_MODULE(Block);

struct GptImpl : nn::Module {
  explicit GptImpl(int64_t letters) : letters(letters, kWidth), head(kWidth, letters) {
    register_module("letters", this->letters);
    register_module("positions", positions);
    for (int64_t layer = 0; layer < kLayers; ++layer) blocks->push_back(Block());
    register_module("blocks", blocks);
    register_module("norm", norm);
    register_module("head", head);
    torch::NoGradGuard no_grad;
    for (auto& embedding : {this->letters, positions}) embedding->weight.mul_(0.1);
  }
  /// Returns the logits of the character after each position.
  Tensor forward(const Tensor& text) {
    auto h = letters->forward(text) + positions->forward(torch::arange(text.size(1)));
    return head->forward(norm->forward(blocks->forward(h)));
  }
  nn::Embedding letters, positions{kContext, kWidth};
  nn::Sequential blocks;
  nn::LayerNorm norm{nn::LayerNormOptions({kWidth})};
  nn::Linear head;
};
TORCH_MODULE(Gpt);

/// A text, encoded as indices of characters.
class Corpus {
 public:
  explicit Corpus(const std::string& text) {
    const std::set<char> used(text.begin(), text.end());
    alphabet_.assign(used.begin(), used.end());
    std::vector<int64_t> numbers;
    for (char letter : text) numbers.push_back(number(letter));
    numbers_ = torch::tensor(numbers);
  }
  int64_t letters() const { return static_cast<int64_t>(alphabet_.size()); }
  int64_t number(char letter) const { return static_cast<int64_t>(alphabet_.find(letter)); }
  char letter(int64_t number) const { return alphabet_[static_cast<size_t>(number)]; }

  /// Returns random excerpts of the text, and the same excerpts shifted by one character.
  std::pair<Tensor, Tensor> batch() const {
    auto starts = torch::randint(0, numbers_.size(0) - kContext, {kBatch, 1});
    auto places = starts + torch::arange(kContext);
    return {numbers_.index({places}), numbers_.index({places + 1})};
  }

 private:
  std::string alphabet_;
  Tensor numbers_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace gpt
