#pragma once
// The programs of tests/data/pt2, their inputs, and what Python gives for them.
#include <antegrad/antegrad.h>
#include <antegrad/program.h>
#include <torch/torch.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace antegrad::test {

inline std::string sample_path(const std::string& name) {
  return std::string(ANTEGRAD_SOURCE_DIR) + "/tests/data/pt2/" + name + ".pt2";
}

/// NAME.pt2.in: how many tensors; then of each whether it is floating-point, its sizes and its values.
inline std::vector<c10::IValue> sample_inputs(const std::string& name) {
  std::ifstream file(sample_path(name) + ".in");
  int count = 0;
  file >> count;
  std::vector<c10::IValue> inputs;
  for (int i = 0; i < count; ++i) {
    int floating = 0, dims = 0;
    file >> floating >> dims;
    std::vector<int64_t> sizes(static_cast<size_t>(dims));
    for (auto& size : sizes) file >> size;
    auto tensor = torch::empty(sizes, torch::kDouble);
    for (int64_t k = 0; k < tensor.numel(); ++k) file >> tensor.data_ptr<double>()[k];
    inputs.emplace_back(tensor.to(floating != 0 ? torch::kFloat : torch::kLong));
  }
  return inputs;
}

struct Expected {
  double loss = 0;
  std::map<std::string, double> gradients, buffers;  ///< sums of squares, and sums
};

/// Reads both forms of the files: lines "name number", and dictionaries of Python.
inline std::map<std::string, Expected> expected_results() {
  std::map<std::string, Expected> all;
  for (const char* file : {"expected.txt", "expected_more.txt"}) {
    std::ifstream lines(std::string(ANTEGRAD_SOURCE_DIR) + "/tests/data/pt2/" + file);
    Expected* current = nullptr;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string first, name, what;
      words >> first >> name;
      if (first == "==") {
        double loss = 0;
        words >> what >> loss;
        current = what == "loss" ? &all[name] : nullptr;
        if (current != nullptr) current->loss = loss;
      } else if (current != nullptr && line.find('{') != line.npos) {
        auto& numbers = first == "buffers" ? current->buffers : current->gradients;
        for (auto& c : line)
          if (c == '{' || c == '}' || c == ',' || c == '\'') c = ' ';
        std::istringstream entries(
            line.substr(line.find("buffers") == line.npos ? 0 : line.find("buffers") + 7));
        double value = 0;
        for (std::string key; entries >> key >> what >> value;) numbers[key] = value;
      } else if (current != nullptr && first == "buffer") {
        words >> current->buffers[name];
      } else if (current != nullptr && !name.empty()) {
        current->gradients[first] = std::stod(name);
      }
    }
  }
  all["mlp_decomp"] = all["mlp"];  // Python cannot differentiate it; docs/programs.md
  all["buffers_decomp"] = all["buffers"];
  return all;
}

/// The sum of all results that require a gradient; undefined if none does.
inline at::Tensor loss_of(const c10::IValue& result) {
  Leaves leaves;
  flatten(result, leaves);
  at::Tensor loss;
  for (const auto& tensor : leaves.tensors) {
    if (!tensor.requires_grad()) continue;
    const auto sum = tensor.to(torch::kFloat).sum();
    loss = loss.defined() ? loss + sum : sum;
  }
  return loss;
}

}  // namespace antegrad::test
