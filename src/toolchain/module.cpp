#include "toolchain/module.h"

#include "toolchain/elf_file.h"
#include "toolchain/linker.h"

namespace antegrad::toolchain {

Module::Module(std::unique_ptr<Mapping> mapping, Functions functions)
    : mapping_(std::move(mapping)), functions_(std::move(functions)) {}

Module::~Module() = default;

std::shared_ptr<const Module> Module::load(const Object& object) {
  const ElfFile file(object.bytes);
  Linker linker(file);
  linker.link();
  Functions functions;
  for (const auto& symbol : file.symbols()) {
    if (is_global_function(symbol)) functions.emplace(file.symbol_name(symbol), linker.function(symbol));
  }
  return std::shared_ptr<const Module>(new Module(std::move(linker).finish(), std::move(functions)));
}

void* Module::find(std::string_view symbol) const {
  const auto found = functions_.find(symbol);
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace antegrad::toolchain
