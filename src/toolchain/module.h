#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "toolchain/toolchain.h"

namespace antegrad::toolchain {

class Mapping;

/// An object file in memory, ready to run. Its functions may be called as long as the module lives.
class Module {
 public:
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Needs no LLVM. Any bytes are safe to load in the sense that they give a module or an Error
  /// (ErrorCode::Compile), but what a loaded function does is up to its code. Undefined symbols are taken
  /// from runtime_symbol() only; no page is both writable and executable.
  static std::shared_ptr<const Module> load(const Object& object);

  /// A global function of the object, or null.
  void* find(std::string_view symbol) const;

 private:
  using Functions = std::map<std::string, void*, std::less<>>;
  Module(std::unique_ptr<Mapping> mapping, Functions functions);

  std::unique_ptr<Mapping> mapping_;
  Functions functions_;
};

}  // namespace antegrad::toolchain
