#pragma once
#include "antegrad/options.h"

namespace antegrad::compiler {

inline void tell_progress(const Options& options, std::string_view stage, size_t done, size_t total) {
  if (options.progress) options.progress({options.name, stage, done, total});
}

}  // namespace antegrad::compiler
