#pragma once
#include "support/same_as_eager.h"

namespace antegrad::test {

inline Options verified() {
  Options options;
  options.verify = true;
  return options;
}

/// Returns all inputs of the graph: arguments, lifted tensors, tangents.
inline std::vector<at::Tensor> inputs_of(const Exported& exported, std::vector<at::Tensor> arguments,
                                         const std::vector<at::Tensor>& tangents = {}) {
  for (const auto& [name, tensor] : exported.lifted()) arguments.push_back(tensor);
  arguments.insert(arguments.end(), tangents.begin(), tangents.end());
  return arguments;
}

inline at::Tensor named(const Exported& exported, const std::vector<at::Tensor>& results,
                        const std::string& name) {
  return results[exported.signature().output(name)];
}

/// Checks that the graph computes the same after it was printed and parsed.
inline void expect_round_trip(const Exported& exported, const std::vector<at::Tensor>& inputs,
                              const std::vector<at::Tensor>& results) {
  const auto parsed = Exported::parse(exported.graph());
  EXPECT_EQ(parsed.graph(), exported.graph());
  EXPECT_EQ(parsed.signature(), exported.signature());
  EXPECT_TRUE(parsed.lifted().empty());
  EXPECT_TRUE(same(results, parsed.run(inputs)));
}

}  // namespace antegrad::test
