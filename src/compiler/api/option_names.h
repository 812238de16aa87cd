#pragma once
#include <string_view>

#include "antegrad/options.h"

/// Names of option values, for the environment and for interfaces without our enums.
namespace antegrad::compiler {

template <class Choice>
struct Named {
  std::string_view name;
  Choice choice;
};

inline constexpr Named<Unsupported> kUnsupported[] = {
    {"error", Unsupported::Error}, {"eager", Unsupported::Eager}, {"break", Unsupported::Break}};
inline constexpr Named<Dynamic> kDynamic[] = {
    {"auto", Dynamic::Auto}, {"all", Dynamic::All}, {"none", Dynamic::None}};
inline constexpr Named<Backend> kBackends[] = {
    {"eager", Backend::Eager}, {"nofuse", Backend::NoFuse}, {"default", Backend::Default}};
inline constexpr Named<ToolchainChoice> kToolchains[] = {
    {"auto", ToolchainChoice::Auto}, {"clang", ToolchainChoice::Clang}, {"system", ToolchainChoice::System}};
inline constexpr Named<Isa> kIsas[] = {
    {"auto", Isa::Auto}, {"baseline", Isa::Baseline}, {"avx2", Isa::Avx2}, {"avx512", Isa::Avx512}};
inline constexpr Named<Cache> kCaches[] = {{"on", Cache::On}, {"off", Cache::Off}, {"strict", Cache::Strict}};
inline constexpr Named<Compile> kCompile[] = {{"blocking", Compile::Blocking},
                                              {"background", Compile::Background}};
inline constexpr Named<CompileFailure> kCompileFailures[] = {{"error", CompileFailure::Error},
                                                             {"eager", CompileFailure::Eager}};

}  // namespace antegrad::compiler
