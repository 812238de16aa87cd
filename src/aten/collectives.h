#pragma once
#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace antegrad::aten {

/// A functional collective of LibTorch (library _c10d_functional): it starts to communicate and returns a
/// tensor, which has its contents after wait_tensor.
struct Collective {
  enum class Result { LikeInput, Gathered, Scattered, Exchanged, Waited };
  std::string_view op;  ///< its name in graphs
  Result result;
  bool copies_input = false;  ///< other kernels read the input until the communication is over
};
/// Returns null for other ops, also for collectives that write to their arguments.
const Collective* find_collective(std::string_view op);

/// Returns the results for arguments on the meta device. That of Waited counts as a new tensor: as a view,
/// its readers could be made readers of the argument, which has no contents yet.
std::vector<c10::IValue> collective_results(const Collective& collective,
                                            const std::vector<c10::IValue>& arguments);

}  // namespace antegrad::aten
