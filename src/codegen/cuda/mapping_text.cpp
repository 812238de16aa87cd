#include <fmt/format.h>

#include "codegen/cuda/mapping.h"
#include "util/ids.h"

namespace antegrad::codegen::cuda {

std::string to_string(const Mapping& mapping) {
  if (!mapping.parts.empty()) {
    auto out = fmt::format("one block of {} threads, {} bytes shared", mapping.threads,
                           mapping.shared_bytes.to_string());
    for (const auto& part : mapping.parts) out += "; " + to_string(part);
    return out;
  }
  static constexpr std::string_view kForms[] = {"flat", "rows", "columns", "all"};
  auto out = fmt::format("{}: {} blocks of {} threads", kForms[ordinal(mapping.form)],
                         mapping.blocks.to_string(), mapping.threads);
  if (mapping.form == Mapping::Form::Rows || mapping.form == Mapping::Form::Columns)
    out += fmt::format(", {} per row", mapping.threads_per_row);
  if (mapping.vector > 1) out += fmt::format(", vectors of {}", mapping.vector);
  if (mapping.unroll > 1) out += fmt::format(", {} at a time", mapping.unroll);
  if (mapping.tile > 0) out += fmt::format(", tiles of {}", mapping.tile);
  if (mapping.keep) out += ", kept in registers";
  if (mapping.resident > 0) out += fmt::format(", {} per multiprocessor", mapping.resident);
  if (mapping.wide) out += ", 64-bit positions";
  if (!mapping.shared_bytes.is(0)) out += fmt::format(", {} bytes shared", mapping.shared_bytes.to_string());
  for (size_t i = 0; i < mapping.aligned.size(); ++i)
    out += fmt::format("{}b{}", i == 0 ? ", aligned " : " ", mapping.aligned[i]);
  return out;
}

}  // namespace antegrad::codegen::cuda
