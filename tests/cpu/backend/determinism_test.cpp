// Two captures of one function give the same bytes, also in another process: cache keys are hashes of these
// texts.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

constexpr const char* kPrintVariable = "ANTEGRAD_DETERMINISM_TEST_PRINT";

template <class Compiled>
std::string texts_of(const Compiled& compiled) {
  return compiled.graph() + "\n" + compiled.signature() + "\n";
}

std::string network_texts() {
  test::manual_seed(0);
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3)), torch::nn::BatchNorm2d(4),
                            torch::nn::ReLU(), torch::nn::Dropout(0.5), torch::nn::Flatten(),
                            torch::nn::Linear(64, 5));
  torch::NoGradGuard no_grad;
  auto compiled = compile(net);
  compiled(torch::randn({2, 3, 6, 6}));
  return texts_of(compiled);
}

std::string recurrent_texts() {
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true));
  torch::nn::GRU gru(torch::nn::GRUOptions(8, 4));
  torch::NoGradGuard no_grad;
  at::set_num_threads(1);  // on a busy machine oneDNN's many small parallel regions are very slow
  auto compiled = compile([&](const Tensor& x, const Tensor& y) {
    Scope scope("recurrent");
    return std::pair(std::get<0>(lstm->forward(x)), std::get<0>(gru->forward(y)));
  });
  compiled(torch::randn({5, 2, 3}), torch::randn({4, 2, 8}));
  return texts_of(compiled);
}

/// Constants, captured tensors, views and writes, aliasing inputs, containers whose order depends on hashes.
std::string mixture_texts() {
  auto w = torch::zeros({3}), b = torch::zeros({3}), base = torch::arange(8, at::kFloat);
  auto compiled = compile([&](const Tensor& x, const Tensor& y, const std::map<std::string, Tensor>& named) {
    auto h = x * torch::tensor({1.5, 2.5, -0.0}) + torch::tensor({1, 2, 3}) + torch::full({3}, 2) + 0.1;
    float blob[3] = {1, 2, 3};
    h = h + torch::from_blob(blob, {3}).clone() + torch::arange(3) + torch::rand({3}) + torch::eye(3)[0];
    w.add_(h);
    b.copy_(w.flip(0));
    y.mul_(2);
    std::unordered_map<std::string, Tensor> out;
    for (const auto& [name, tensor] : named) out[name] = tensor + w.view({3, 1});
    return std::tuple(h.index({torch::tensor({2, 0})}), x.view({3, 1}), out.at("a"), out.at("b"), w,
                      y.narrow(0, 0, 1));
  });
  torch::NoGradGuard no_grad;
  compiled(base.narrow(0, 0, 3), base.narrow(0, 2, 3),
           std::map<std::string, Tensor>{{"a", torch::ones({3})}, {"b", torch::ones({1})}});
  return texts_of(compiled);
}

std::string all_texts() { return network_texts() + recurrent_texts() + mixture_texts(); }

TEST(Determinism, WithinAProcess) {
  const auto first = all_texts();
  EXPECT_GT(first.size(), 2000u);
  std::vector<std::unique_ptr<char[]>> disturbance;  // gives later allocations other addresses
  for (int again = 0; again < 3; ++again) {
    for (size_t bytes = 16; bytes < 4096; bytes *= 2) disturbance.push_back(std::make_unique<char[]>(bytes));
    EXPECT_EQ(first, all_texts());
  }
}

TEST(Determinism, InAnotherThreadAfterOtherWork) {
  const auto first = all_texts();
  std::string other;
  std::thread([&] {
    // Autograd's sequence numbers, counts of captures and the like must have no influence.
    auto leaf = torch::ones({2}).requires_grad_();
    for (int i = 0; i < 50; ++i) (leaf * 2).sum().backward();
    other = all_texts();
  }).join();
  EXPECT_EQ(first, other);
}

TEST(Determinism, TextsDifferWhenFunctionsDo) {
  auto text = [](double number) {
    auto compiled = compile([number](const Tensor& x) { return x * number; });
    compiled(torch::ones({2}));
    return texts_of(compiled);
  };
  EXPECT_EQ(text(0.1), text(0.1));
  EXPECT_NE(text(0.1), text(0.2));
  EXPECT_NE(text(0.1), text(std::nextafter(0.1, 1.0)));
}

TEST(Determinism, AcrossProcesses) {
  if (std::getenv(kPrintVariable) != nullptr) {  // the other process
    std::printf("<<<%s>>>", all_texts().c_str());
    return;
  }
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto command =
      std::string(kPrintVariable) + "=1 '" + program + "' --gtest_filter=Determinism.AcrossProcesses";
  for (int run = 0; run < 2; ++run) {
    auto* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    std::array<char, 4096> buffer;
    while (auto bytes = std::fread(buffer.data(), 1, buffer.size(), pipe))
      output.append(buffer.data(), bytes);
    ASSERT_EQ(pclose(pipe), 0) << output;
    const auto begin = output.find("<<<"), end = output.rfind(">>>");
    ASSERT_NE(end, std::string::npos) << output;
    EXPECT_EQ(output.substr(begin + 3, end - begin - 3), all_texts());
  }
}

}  // namespace
}  // namespace antegrad::test
