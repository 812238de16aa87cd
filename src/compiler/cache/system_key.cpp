#include "compiler/cache/system_key.h"

#include "toolchain/build_id.h"

namespace antegrad::compiler {

const std::string& own_build() {
  static const auto& id =
      *new const std::string(toolchain::build_id_of(reinterpret_cast<const void*>(&own_build)));
  return id;
}

void add_system(cache::Key& key, std::string_view toolchain, std::string_view isa) {
  key.add_text("antegrad", own_build());
  key.add_text("toolchain", std::string(toolchain));
  key.add_text("isa", std::string(isa));
}

std::string why_not_cacheable() {
  return own_build().empty() ? "this antegrad was linked without a build id" : "";
}

}  // namespace antegrad::compiler
