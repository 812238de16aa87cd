#include <fmt/format.h>

#include "antegrad/error.h"
#include "compiler/api/environment.h"
#include "compiler/code/driver.h"
#include "ir/verify.h"
#include "package/refuse.h"
#include "package/state.h"
#include "util/reasons.h"

namespace antegrad::packaging {
namespace {

#if defined(__x86_64__)
constexpr const char* kMachine = "x86_64";
#else
constexpr const char* kMachine = "other";
#endif

/// A package has code for all cases that were asked for; whether code that is compiled anew is cached is up
/// to the user's options.
Options options_for(const PackageLoad& load) {
  auto options = compiler::with_environment(load.options);
  options.cuda_kernels = false;
  return options;
}

}  // namespace

std::string machine_here() { return kMachine; }

CodeLoader::CodeLoader(std::shared_ptr<const Archive> archive, const PackageLoad& load)
    : archive_(std::move(archive)),
      load_(load),
      lowering_(std::make_shared<const compiler::Lowering>(options_for(load))) {
  if (load.kernel_library.empty()) return;
  if (load.ir_only)
    throw Error(
        ErrorCode::InvalidArgument, "package:load",
        "PackageLoad::kernel_library and ir_only are both set, but no graph of the file is compiled with "
        "a library",
        "Set one of them");
  library_.emplace(load.kernel_library);
}

std::string CodeLoader::isa_for(const std::vector<cache::Digest>& kernels) const {
  if (archive_->manifest().info.machine != machine_here()) return {};
  const auto most = toolchain::isa_from_name(lowering_->isa_name());
  for (const auto isa : {toolchain::Isa::Avx512, toolchain::Isa::Avx2, toolchain::Isa::Baseline}) {
    const std::string name(toolchain::isa_name(isa));
    if (isa <= *most && std::all_of(kernels.begin(), kernels.end(), [&](const cache::Digest& kernel) {
          return archive_->has(kernel_record(name, kernel));
        }))
      return name;
  }
  return {};
}

compiler::LoadedKernel CodeLoader::kernel(const std::string& isa, const cache::Digest& digest) {
  const auto record = kernel_record(isa, digest);
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = kernels_.find(record); known != kernels_.end()) return known->second;
  }
  try {
    auto loaded = compiler::load_kernel(digest, std::string(archive_->read(record)));
    const std::scoped_lock lock(mutex_);
    return kernels_.emplace(record, std::move(loaded)).first->second;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Compile) throw;
    refuse_file(fmt::format("the object \"{}\" cannot be loaded: {}", record, error.what()));
  }
}

void CodeLoader::allow_compiling(const std::string& what, const std::string& why) {
  if (load_.strict)
    throw Error(ErrorCode::CacheMiss, "package", fmt::format("{} would have to be compiled: {}", what, why),
                "Make the package with what is missing, or load it without PackageLoad::strict");
  note(fmt::format("{}: compiled anew, because {}", what, why));
}

std::shared_ptr<const compiler::Lowered> CodeLoader::load(const std::string& record,
                                                          const std::string& what) {
  if (load_.ir_only) {
    allow_compiling(what, "no code of the file is used (PackageLoad::ir_only)");
    return nullptr;
  }
  auto code = reading_file([&] {
    auto read = read_code(archive_->read(record));
    ir::verify(read.program.graph);
    return read;
  });
  if (code.eager) {
    note(fmt::format("{}: LibTorch runs every op", what));
    return std::make_shared<const compiler::Lowered>(code.program.graph);
  }
  std::vector<compiler::LoadedKernel> kernels;
  if (library_ &&
      std::ranges::all_of(code.kernels, [&](const auto& digest) { return library_->has(digest); })) {
    for (const auto& digest : code.kernels) kernels.push_back(library_->kernel(digest));
    note(fmt::format("{}: {} kernels of \"{}\"", what, kernels.size(), library_->path()));
    return std::make_shared<const compiler::Lowered>(std::move(code.program), std::move(kernels));
  }
  const auto isa = isa_for(code.kernels);
  if (isa.empty()) {
    allow_compiling(
        what, fmt::format("the file has no kernels for {} and {}", machine_here(), lowering_->isa_name()));
    return nullptr;
  }
  for (const auto& digest : code.kernels) kernels.push_back(kernel(isa, digest));
  note(fmt::format("{}: {} kernels for {} of the file", what, kernels.size(), isa));
  return std::make_shared<const compiler::Lowered>(std::move(code.program), std::move(kernels));
}

std::shared_ptr<const compiler::Lowered> CodeLoader::load_or_compile(const std::string& record,
                                                                     const std::string& what,
                                                                     const ir::Graph& graph,
                                                                     bool has_kernels) {
  if (!has_kernels) {
    note(fmt::format("{}: LibTorch runs every op", what));
    return std::make_shared<const compiler::Lowered>(graph);
  }
  if (auto code = load(record, what)) return code;
  return compiler::lower(*lowering_, graph);
}

void CodeLoader::note(std::string text) {
  const std::scoped_lock lock(mutex_);
  append_unique(notes_, text);
}

std::vector<std::string> CodeLoader::notes() const {
  const std::scoped_lock lock(mutex_);
  return notes_;
}

}  // namespace antegrad::packaging
