#include "codegen/cuda/one_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "antegrad/error.h"
#include "codegen/text/c_text.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cuda {
namespace {

using schedule::Buffer;
using schedule::Kernel;

constexpr int64_t kLargestBlock = 512;  // more leave fewer registers to each than many parts need
constexpr int64_t kBarriers = 16;       // of a block; the first is that of all its threads
/// Each group has a barrier of its own, and so has each of its rows of several warps.
constexpr int64_t kMostGroups = 8;

/// How a part runs in a block of `threads` threads. Those that are left over by the last group are idle.
struct Groups {
  int32_t threads = 0;  ///< of a group
  int64_t count = 1;
  int64_t blocks = 0;        ///< that the groups run
  int64_t shared_bytes = 0;  ///< of a group
  int64_t row_barriers = 0;  ///< of a group
};

Groups groups_of(const Mapping& part, int64_t threads, int64_t most_shared) {
  Groups out{part.threads, 1, part.blocks.constant(), (part.shared_bytes.constant() + 15) / 16 * 16};
  if (part.form == Mapping::Form::Rows && part.threads_per_row > kWarp && part.rows_per_block > 1)
    out.row_barriers = part.rows_per_block;
  const auto most = std::min({threads / part.threads, kMostGroups, (kBarriers - 1) / (1 + out.row_barriers),
                              std::max<int64_t>(1, out.blocks)});
  while (2 * out.count <= most && 2 * out.count * out.shared_bytes <= most_shared) out.count *= 2;
  return out;
}

/// Replaces words of a kernel's text that ask for its place in the grid by those of a part. Words that are
/// not known here might assume that nothing else runs in the launch.
std::string word_in_part(std::string_view word, const Groups& groups, int32_t threads) {
  static constexpr std::string_view kSame[] = {
      "AG_UNROLL",  "AG_SYNC_WARP", "AG_SHFL_XOR",   "AG_MIN",        "AG_MAX",
      "AG_NAN_MIN", "AG_NAN_MAX",   "AG_RECIPROCAL", "AG_F16_TO_F32", "AG_F32_TO_F16"};
  if (word == "AG_THREAD") return "ag_thread";
  if (word == "AG_BLOCK") return "ag_block";
  if (word == "AG_PARAMETER") return "const";
  if (word == "AG_SYNC()")
    return groups.threads == threads ? "AG_SYNC()"
                                     : fmt::format("AG_SYNC_GROUP(ag_barrier, {})", groups.threads);
  if (word == "AG_SYNC_ROW(")
    return fmt::format("AG_SYNC_GROUP({} + (ag_barrier - 1) * {} + ", 1 + groups.count, groups.row_barriers);
  if (std::ranges::find(kSame, word) != std::end(kSame)) return std::string(word);
  throw Error(ErrorCode::Internal, "codegen",
              fmt::format("'{}' in the text of a kernel that is part of another", word));
}

std::string with_words_of_part(std::string_view text, const Groups& groups, int32_t threads) {
  std::string out;
  for (size_t done = 0; done < text.size();) {
    const auto at = std::min(text.find("AG_", done), text.size());
    out += text.substr(done, at - done);
    auto end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    if (text.substr(at, end - at) == "AG_SYNC" && text.substr(end, 2) == "()") end += 2;
    if (text.substr(at, end - at) == "AG_SYNC_ROW") ++end;
    if (at < end) out += word_in_part(text.substr(at, end - at), groups, threads);
    done = end;
  }
  return out;
}

/// Removes `what` from the text, and puts `instead` in its place. Returns false if it is not there.
bool replace(std::string& text, const std::string& what, const std::string& instead) {
  const auto at = text.find(what);
  if (at == std::string::npos) return false;
  text.replace(at, what.size(), instead);
  return true;
}

/// Turns a kernel into a function that a group of threads calls.
std::string as_function(std::string text, const Kernel& kernel, const std::string& name, bool once,
                        const Groups& groups, int32_t threads) {
  const auto head = fmt::format("AG_KERNEL({}) {}(", groups.threads, kernel.name);
  if (!replace(text, head, "("))
    throw Error(ErrorCode::Internal, "codegen:" + kernel.name, "its text has no " + head);
  replace(text, "  AG_SHARED(ag_shared);\n", "");
  text = with_words_of_part(text, groups, threads);
  // A copy for each of many calls would only take longer to compile.
  const auto start = fmt::format(
      "{} void {}(const int32_t ag_thread, const int32_t ag_block, const int32_t ag_barrier, unsigned char* "
      "ag_shared, ",
      once ? "AG_INLINE" : "static __attribute__((noinline))", name);
  const auto open = text.find("\n(") == std::string::npos ? 0 : text.find("\n(") + 1;
  return text.replace(open, 1, start);
}

class OneBlockPrinter {
 public:
  OneBlockPrinter(const Kernel& kernel, const Mapping& mapping) : kernel_(kernel), mapping_(mapping) {}

  PrintedKernel run() {
    Writer body(1);
    for (size_t i = 0; i < kernel_.parts.size(); ++i) {
      if (i > 0) body.line("AG_SYNC();");
      print_call(body, i, function_of(i));
    }
    Writer out;
    out.append(functions_);
    out.comment(to_string(mapping_));
    out.open("AG_KERNEL({}) {}({}unsigned long long* error) {{", mapping_.threads, kernel_.name,
             parameters());
    out.line("AG_SHARED(ag_shared);");
    out.append(body.text());
    out.close();
    return {out.text(), std::move(used_), false};
  }

 private:
  Groups groups(size_t part) const {
    return groups_of(mapping_.parts[part], mapping_.threads, mapping_.shared_bytes.constant());
  }

  std::string parameters() const {
    std::string out;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const auto& buffer = kernel_.buffers[i];
      const auto constant = buffer.kind == Buffer::Kind::Input ? "const " : "";
      out += buffer.host ? fmt::format("AG_PARAMETER AgHost h{}, ", i)
                         : fmt::format("{}{}* b{}, ", constant, memory_type(buffer.dtype), i);
    }
    return out;
  }

  /// Returns the name of the function that runs a part, and prints it if no earlier part has the same.
  std::string function_of(size_t part) {
    const auto& kernel = kernel_.parts[part].kernel;
    const auto is_same = [&](const schedule::KernelPart& other) { return other.kernel == kernel; };
    const auto first = std::ranges::find_if(kernel_.parts, is_same) - kernel_.parts.begin();
    const auto name = fmt::format("{}_part{}", kernel_.name, first);
    if (std::cmp_less(first, part)) return name;
    auto printed = print_kernel(kernel, mapping_.parts[part]);
    used_.insert(printed.functions.begin(), printed.functions.end());
    const bool once = std::ranges::count_if(kernel_.parts, is_same) == 1;
    functions_ += as_function(std::move(printed.text), kernel, name, once, groups(part), mapping_.threads);
    return name;
  }

  void print_call(Writer& out, size_t part, const std::string& function) {
    const auto groups = this->groups(part);
    const bool all = groups.threads == mapping_.threads;
    std::string arguments;
    for (const auto b : kernel_.parts[part].buffers)
      arguments += fmt::format("{}{}, ", kernel_.buffers[b].host ? 'h' : 'b', b);
    out.open("{{");
    out.line("const int32_t group = AG_THREAD / {};", groups.threads);
    const bool idle = groups.count * groups.threads < mapping_.threads;
    out.open("for (int32_t block = group; {}block < {}; block += {}) {{",
             idle ? fmt::format("group < {} && ", groups.count) : "", groups.blocks, groups.count);
    out.line("{}(AG_THREAD % {}, block, 1 + group, ag_shared + group * {}, {}error);", function,
             groups.threads, groups.shared_bytes, arguments);
    // The next block uses the same shared memory.
    if (groups.shared_bytes > 0 && groups.blocks > groups.count)
      out.line("{}", all ? "AG_SYNC();" : fmt::format("AG_SYNC_GROUP(1 + group, {});", groups.threads));
    out.close();
    out.close();
  }

  const Kernel& kernel_;
  const Mapping& mapping_;
  std::string functions_;
  std::set<std::string> used_;
};

}  // namespace

Mapping map_one_block(const Kernel& kernel, const schedule::DeviceFacts& facts) {
  auto one = facts;
  one.multiprocessors = 1;
  Mapping out;
  out.threads = 0;
  for (const auto& part : kernel.parts) {
    auto mapping = map_kernel(part.kernel, one, /*vectorise=*/false);
    mapping.resident = 0;  // which is about a launch of its own
    // Few iterations are left for each thread, and unrolling them takes NVRTC long.
    if (mapping.form == Mapping::Form::Rows || mapping.form == Mapping::Form::Columns) mapping.unroll = 1;
    const auto blocks = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, mapping.blocks.constant())));
    const auto wanted = std::min<int64_t>(
        kLargestBlock, mapping.threads * static_cast<int64_t>(std::min<uint64_t>(blocks, kMostGroups)));
    out.threads = static_cast<int32_t>(std::max<int64_t>({out.threads, mapping.threads, wanted}));
    out.parts.push_back(std::move(mapping));
  }
  int64_t shared = 0;
  for (const auto& part : out.parts) {
    if (part.threads % kWarp != 0)
      throw Error(ErrorCode::Internal, "codegen:" + kernel.name,
                  fmt::format("groups of {} threads, which are not whole warps", part.threads));
    const auto groups = groups_of(part, out.threads, facts.shared_per_block);
    shared = std::max(shared, groups.count * groups.shared_bytes);
  }
  out.blocks = 1;
  out.shared_bytes = shared;
  return out;
}

PrintedKernel print_one_block(const Kernel& kernel, const Mapping& mapping) {
  return OneBlockPrinter(kernel, mapping).run();
}

}  // namespace antegrad::codegen::cuda
