#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "toolchain/toolchain.h"

namespace antegrad::toolchain {

class Mapping;

/// An object file loaded into memory. Its functions may be called while the module lives.
class Module {
 public:
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Loads an object without LLVM. Any bytes give either a module or Error(Compile), but what a loaded
  /// function does is up to its code. Undefined symbols are resolved by runtime_symbol() only; no page is
  /// both writable and executable.
  static std::shared_ptr<const Module> load(const Object& object);

  /// Returns a global function of the object, or null.
  void* find(std::string_view symbol) const;

 private:
  using Functions = std::map<std::string, void*, std::less<>>;
  Module(std::unique_ptr<Mapping> mapping, Functions functions);

  std::unique_ptr<Mapping> mapping_;
  Functions functions_;
};

}  // namespace antegrad::toolchain
