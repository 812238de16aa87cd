#pragma once
// Tables of torch::nn modules and functionals, and the check that drives each row: compiled against eager, in
// training and in evaluation, with gradients of inputs and parameters, at several sizes.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {

namespace nn = torch::nn;
namespace F = torch::nn::functional;

/// A module, or none for a functional, and a call of it.
struct NnSubject {
  std::shared_ptr<nn::Module> module;
  std::function<Tensors(const Tensors&)> call;
};
using NnInput = std::function<at::Tensor()>;

/// One line of a table.
struct NnRow {
  std::string name;  ///< as LibTorch declares it, functionals with "F::"; a comma begins the variant
  std::function<NnSubject()> make;           ///< deterministic, given the seed
  std::vector<std::vector<NnInput>> inputs;  ///< one list per call: unequal sizes, equal sizes, other sizes
  std::string refused = {};                  ///< if not empty: what the error of calls in training says
};
inline std::ostream& operator<<(std::ostream& out, const NnRow& row) { return out << row.name; }
/// The name of a row's test: letters and digits only.
inline std::string nn_row_name(const ::testing::TestParamInfo<NnRow>& info) {
  return std::regex_replace(info.param.name, std::regex("[^A-Za-z0-9]+"), "_");
}

// --- inputs

inline NnInput normal(at::IntArrayRef sizes) {
  return [sizes = sizes.vec()] { return torch::randn(sizes).requires_grad_(); };
}
inline NnInput unit(at::IntArrayRef sizes) {  ///< between 0.05 and 0.95
  return [sizes = sizes.vec()] { return (torch::rand(sizes) * 0.9 + 0.05).requires_grad_(); };
}
inline NnInput integers(at::IntArrayRef sizes, int64_t high) {
  return [sizes = sizes.vec(), high] { return torch::randint(high, sizes, at::kLong); };
}
inline NnInput signs(at::IntArrayRef sizes) {
  return [sizes = sizes.vec()] { return torch::randint(2, sizes, at::kFloat) * 2 - 1; };
}
inline NnInput mask(at::IntArrayRef sizes) {  ///< true for two elements of five; false in the first column
  return [sizes = sizes.vec()] {
    auto drawn = torch::rand(sizes) < 0.4;
    drawn.select(-1, 0).fill_(false);
    return drawn;
  };
}
inline NnInput numbers(std::vector<int64_t> values) {
  return [values] { return torch::tensor(values); };
}

// --- subjects

template <class T>
Tensors results_of(const T& value) {
  Leaves leaves;
  flatten(value, leaves);
  return {leaves.tensors.begin(), leaves.tensors.end()};
}

/// Calls `call` with a list of tensors.
template <class M, class Call>
NnSubject module_with(M module, Call call) {
  return {module.ptr(), [module, call](const Tensors& t) mutable { return results_of(call(module, t)); }};
}
template <class Call>
NnSubject functional(Call call) {
  return {nullptr, [call](const Tensors& t) { return results_of(call(t)); }};
}
/// Whose calls are refused with an error that contains `text`.
inline NnRow refused(const char* text, NnRow row) {
  row.refused = text;
  return row;
}
/// A module whose forward() takes N tensors.
template <size_t N = 1, class M>
NnSubject module_of(M module) {
  return module_with(module, [](M& m, const Tensors& t) {
    if constexpr (N == 1) return m->forward(t[0]);
    if constexpr (N == 2) return m->forward(t[0], t[1]);
    if constexpr (N == 3) return m->forward(t[0], t[1], t[2]);
  });
}

// --- the check

/// Everything that a caller can see of the calls of one row.
struct NnSeen {
  Tensors values;
  std::vector<std::string> facts;

  void add(const at::Tensor& t) {
    facts.push_back(!t.defined() ? "undefined"
                                 : c10::str(t.dtype(), t.sizes(), t.strides(), t.requires_grad()));
    if (t.defined()) values.push_back(t.detach().clone());
  }
};

enum class NnMode { Training, Evaluation, Inference };

/// Makes the subject, and calls what `wrap` makes of it once per list of inputs (the first one, except in
/// training), and with the first list again.
template <class Wrap>
NnSeen nn_calls(const NnRow& row, NnMode mode, const Wrap& wrap) {
  torch::AutoGradMode grad(mode != NnMode::Inference);
  test::manual_seed(1);
  const auto subject = row.make();
  if (subject.module) subject.module->train(mode == NnMode::Training);
  const auto call = wrap(subject);
  NnSeen seen;
  auto lists = row.inputs;
  if (mode != NnMode::Training) lists.resize(1);
  lists.push_back(lists[0]);
  for (size_t i = 0; i < lists.size(); ++i) {
    test::manual_seed(10 + i);
    Tensors inputs;
    for (const auto& input : lists[i]) inputs.push_back(input());
    test::manual_seed(20 + i);
    const Tensors results = call(inputs);
    at::Tensor loss = torch::zeros({});
    for (const auto& result : results) {
      seen.add(result);
      if (result.defined() && result.requires_grad())
        loss = loss + (result * torch::linspace(0.5, 1.5, result.numel()).view(result.sizes())).sum();
    }
    if (loss.requires_grad()) loss.backward();
    for (const auto& input : inputs) {
      seen.add(input);
      seen.add(input.grad());
    }
    if (!subject.module) continue;
    for (const auto& parameter : subject.module->parameters()) {
      seen.add(parameter.grad());
      parameter.mutable_grad() = at::Tensor();
    }
    for (const auto& buffer : subject.module->buffers()) seen.add(buffer);
  }
  return seen;
}

inline void expect_row_as_eager(const NnRow& row, NnMode mode) {
  const auto eager = [](const NnSubject& subject) { return subject.call; };
  const auto compiled = [](const NnSubject& subject) {
    Options options;
    options.rng = Rng::Eager;
    if (subject.module) options.watch.push_back(subject.module);
    return compile(subject.call, options);
  };
  const auto expected = nn_calls(row, mode, eager);
  if (!row.refused.empty()) {
    if (mode != NnMode::Training) return;
    try {
      nn_calls(row, mode, compiled);
      ADD_FAILURE() << "it works: the row and docs/torch-nn.md should say so";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(row.refused), std::string::npos) << error.what();
    }
    return;
  }
  const auto seen = nn_calls(row, mode, compiled);
  EXPECT_EQ(expected.facts, seen.facts);
  Reference reference([&] { return nn_calls(row, mode, eager).values; }, expected.values);
  const auto difference = reference.difference(seen.values);
  EXPECT_FALSE(difference) << *difference;
}

/// With generated code, which takes longer, only training.
inline void expect_row_as_eager(const NnRow& row) {
  for (const auto mode : {NnMode::Training, NnMode::Evaluation, NnMode::Inference}) {
    SCOPED_TRACE(row.name + ", mode " + std::to_string(static_cast<int>(mode)));
    if (mode == NnMode::Training || runs_libtorch_kernels()) expect_row_as_eager(row, mode);
  }
}

// --- that no declaration is missing

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern, std::regex::ECMAScript | std::regex::multiline);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

/// The modules or functionals that a header of torch/nn declares, without those whose names begin with `_`.
inline std::set<std::string> declared_in(const std::string& header) {
  const auto folder = std::string(ANTEGRAD_LIBTORCH_API) + "/torch/nn/";
  auto text = std::regex_replace(text_of_file(folder + header), std::regex("//[^\n]*"), "");
  std::set<std::string> names;
  if (header.starts_with("modules/")) {
    names = matches(text, "^ *TORCH_MODULE\\((\\w+)\\)");
    names.merge(matches(text, "^class (\\w+) : public (?:torch::nn::)?ModuleHolder<"));
  } else {
    text = std::regex_replace(text, std::regex("namespace detail \\{[^]*?\n\\}[ ]*\n"), "");
    names = matches(text, "^(?:inline|TORCH_API) [^;{(=]*?(\\w+)\\(");
  }
  names.erase("padding_unwrap");  // names a padding
  std::erase_if(names, [](const std::string& name) { return name.starts_with("_"); });
  if (header.starts_with("modules/")) return names;
  std::set<std::string> qualified;
  for (const auto& name : names) qualified.insert((header.starts_with("utils/") ? "utils::" : "F::") + name);
  return qualified;
}

/// Checks that docs/torch-nn.md names every header.
inline void expect_all_headers() {
  const auto page = text_of_file(ANTEGRAD_SOURCE_DIR "/docs/torch-nn.md");
  const auto root = std::filesystem::path(ANTEGRAD_LIBTORCH_API) / "torch/nn";
  for (const auto* folder : {"modules", "functional", "utils"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(root / folder)) {
      const auto name = std::filesystem::relative(file.path(), root).string();
      if (!file.is_regular_file()) continue;
      EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
    }
}

/// Checks that the rows are exactly what the headers declare, and that docs/torch-nn.md says so, header by
/// header.
inline void expect_complete(const std::vector<NnRow>& rows, const std::vector<std::string>& headers) {
  const auto page = text_of_file(ANTEGRAD_SOURCE_DIR "/docs/torch-nn.md");
  std::set<std::string> in_rows, in_headers;
  for (const auto& row : rows) in_rows.insert(row.name.substr(0, row.name.find(',')));
  for (const auto& header : headers) {
    const auto declared = declared_in(header);
    in_headers.insert(declared.begin(), declared.end());
    const auto line = page.find("| `" + header + "` |");
    ASSERT_NE(line, std::string::npos) << header << " is not in docs/torch-nn.md";
    const auto cells = page.substr(line, page.find('\n', line) - line);
    auto documented = matches(cells.substr(header.size() + 6), "`([\\w:]+)`");
    EXPECT_EQ(documented, declared) << header << " in docs/torch-nn.md";
  }
  for (const auto& name : in_headers) EXPECT_EQ(in_rows.count(name), 1U) << name << " has no row";
  for (const auto& name : in_rows) EXPECT_EQ(in_headers.count(name), 1U) << name << " is not declared";
}

}  // namespace antegrad::test
