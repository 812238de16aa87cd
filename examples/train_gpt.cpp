// Trains a small GPT, letter by letter, on the story in data/ferry.txt, and lets it write on.
//
//     train_gpt [text file] [steps]
//
// The loss is one compiled function: its first call captures forward and backward as graphs, every later call
// runs them. At the end the same steps are timed compiled and eagerly, in turns.
#include <antegrad/antegrad.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

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
  /// Scores of the letter that follows each position.
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

/// A text as numbers of letters.
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

  /// Random places of the text, and the same places one letter further on.
  std::pair<Tensor, Tensor> batch() const {
    auto starts = torch::randint(0, numbers_.size(0) - kContext, {kBatch, 1});
    auto places = starts + torch::arange(kContext);
    return {numbers_.index({places}), numbers_.index({places + 1})};
  }

 private:
  std::string alphabet_;
  Tensor numbers_;
};

std::string read_file(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string write_on(Gpt& net, const Corpus& corpus, std::string text, int letters) {
  torch::NoGradGuard no_grad;
  for (int i = 0; i < letters; ++i) {
    std::vector<int64_t> numbers;
    for (size_t at = text.size() > kContext ? text.size() - kContext : 0; at < text.size(); ++at)
      numbers.push_back(corpus.number(text[at]));
    auto scores = net->forward(torch::tensor(numbers).unsqueeze(0))[0][-1];
    text += corpus.letter(torch::softmax(scores / 0.6, 0).multinomial(1).item<int64_t>());
  }
  return text;
}

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : ANTEGRAD_EXAMPLE_DATA "/ferry.txt";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 500;
  const auto text = read_file(path);
  if (text.size() <= kContext) {
    std::fprintf(stderr, "%s: no text of more than %d letters\n", path, static_cast<int>(kContext));
    return 1;
  }
  torch::manual_seed(0);
  const Corpus corpus(text);
  Gpt net(corpus.letters());
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(3e-3).weight_decay(0.01));

  auto eager_loss = [&](const Tensor& x, const Tensor& y) {
    return nn::functional::cross_entropy(net->forward(x).flatten(0, 1), y.flatten());
  };
  antegrad::Options options;
  options.name = "loss";
  options.watch = {net.ptr()};  // the lambda hides the module
  auto compiled_loss = antegrad::compile(eager_loss, options);

  auto step = [&](const auto& loss_of) {
    auto [x, y] = corpus.batch();
    auto loss = loss_of(x, y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return loss.template item<double>();
  };

  std::printf("%zu letters of text, %d steps\n", text.size(), steps);
  double first_ms = 0;
  for (int i = 1; i <= steps; ++i) {
    double loss = 0;
    const double ms = milliseconds([&] { loss = step(compiled_loss); });
    if (i == 1) first_ms = ms;
    if (i == 1 || i % 50 == 0) std::printf("step %4d   loss %.3f   %6.1f ms\n", i, loss, ms);
    std::fflush(stdout);
  }

  std::printf("\n%s\n\n", write_on(net, corpus, "The ferryman", 300).c_str());

  double compiled_ms = 0, eager_ms = 0;
  constexpr int kTimed = 40;
  for (int i = 0; i < kTimed; ++i) {
    compiled_ms += milliseconds([&] { step(compiled_loss); }) / kTimed;
    eager_ms += milliseconds([&] { step(eager_loss); }) / kTimed;
  }
  std::printf("a step takes %.2f ms compiled, %.2f ms eagerly: ratio %.2f (first step: %.1f ms)\n",
              compiled_ms, eager_ms, compiled_ms / eager_ms, first_ms);
  return 0;
}
