#pragma once
#include <memory>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace antegrad {

/// What to do with a function, or a call of it, that cannot be captured.
enum class Unsupported {
  Error,  ///< throw antegrad::Error
  Eager,  ///< run it uncompiled; Report counts such calls and says why
};

/// Every field is described in docs/options.md. Environment variables override some of them (see there).
struct Options {
  std::string name = "function";
  Unsupported unsupported = Unsupported::Error;
  std::vector<std::shared_ptr<torch::nn::Module>> watch;
  int max_versions = 16;
  bool check_recapture = false;
  bool verify = false;
  std::vector<std::string> disabled_passes;
};

}  // namespace antegrad
