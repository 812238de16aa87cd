#include "codegen/cuda/scatter_text.h"

#include "codegen/text/c_text.h"
#include "codegen/text/op_text.h"

namespace antegrad::codegen::cuda {

using ir::DType;

void print_scatter(Writer& out, Names& names, const schedule::Op& op,
                   const std::vector<std::string>& positions, const std::string& value) {
  const auto memory = names.memory(op.buffer);
  const auto type = schedule::compute_type(memory);
  const auto element = names.element(op, positions);
  const auto from = names.type(op.args[0]);
  if (op.combine == schedule::Combine::Set) {
    out.line("{} = {};", element, to_memory(names, memory, value, from));
    return;
  }
  if (op.combine == schedule::Combine::Sum &&
      (memory == DType::F32 || memory == DType::F64 || memory == DType::I32)) {
    out.line("AG_ATOMIC_ADD(&{}, ({}){});", element, scalar_type(memory), value);
    return;
  }
  if (op.combine == schedule::Combine::Sum && memory == DType::I64) {
    out.line("AG_ATOMIC_ADD((unsigned long long*)&{}, (unsigned long long){});", element, value);
    return;
  }
  out.open("ag_update(&{}, [&]({} old) {{", element, memory_type(memory));
  out.line("{} into = {};", scalar_type(memory), from_memory(names, memory, "old"));
  out.line("{}", combine_text("into", value, type, op.combine));
  out.line("return ({}){};", memory_type(memory), to_memory(names, memory, "into", type));
  out.close_with(");");
}

}  // namespace antegrad::codegen::cuda
