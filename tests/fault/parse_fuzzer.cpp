// libFuzzer target: build with -DANTEGRAD_FUZZERS=ON and clang, then run parse_fuzzer -max_total_time=60.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "antegrad/error.h"
#include "ir/text.h"
#include "ir/verify.h"

using antegrad::Error;
namespace ir = antegrad::ir;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ir::Graph graph;
  try {
    graph = ir::parse({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    return 0;
  }
  const std::string text = ir::print(graph);
  const ir::Graph again = ir::parse(text);
  if (ir::print(again) != text || !(again == graph)) std::abort();
  try {
    ir::verify(graph);
  } catch (const Error&) {
  }
  return 0;
}
