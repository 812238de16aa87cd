// Trains a small GPT, character by character, on the story in data/ferry.txt, and lets it continue the text.
//
//     train_gpt [text file] [--steps N]
//
// The loss is one compiled function: its first call captures forward and backward as graphs, and every later
// call runs them. At the end, compiled and eager steps are timed in turns.
#include <antegrad/antegrad.h>

#include "example.h"
#include "gpt.h"

namespace {

using namespace gpt;

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

}  // namespace

int main(int argc, char** argv) {
  const auto path = example::file(argc, argv, ANTEGRAD_EXAMPLE_DATA "/ferry.txt");
  const int steps = example::steps(argc, argv, 500);
  const auto text = read_file(path);
  if (text.size() <= kContext) {
    std::fprintf(stderr, "%s: no text of more than %d letters\n", path.c_str(), static_cast<int>(kContext));
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
  example::Log log("loss", steps);
  const double first_ms = example::milliseconds([&] { log(step(compiled_loss)); });
  for (int i = 1; i < steps; ++i) log(step(compiled_loss));

  std::printf("\n%s\n\n", write_on(net, corpus, "The ferryman", 300).c_str());

  auto [x, y] = corpus.batch();
  const double difference = example::difference(compiled_loss(x, y), eager_loss(x, y));
  std::printf("the first step took %.1f ms; difference of the loss from eager: %.1e\n", first_ms, difference);
  example::compare_times(
      "a training step", [&] { step(compiled_loss); }, [&] { step(eager_loss); });
  return log.last() < log.first() && difference < 1e-4 ? 0 : 1;
}
