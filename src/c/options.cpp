#include "c/options.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <sstream>

#include "antegrad/error.h"
#include "compiler/api/option_names.h"

namespace antegrad::c {
namespace {

using compiler::Named;
using Setter = std::function<void(Options&, const std::string& value)>;

/// Thrown by setters: describes the valid values.
struct Wanted {
  std::string text;
};

template <class Choice, size_t kCount>
Setter choice(Choice Options::*field, const Named<Choice> (&choices)[kCount]) {
  return [field, &choices](Options& options, const std::string& value) {
    std::string wanted;
    for (const auto& [name, choice] : choices) {
      if (name == value) {
        options.*field = choice;
        return;
      }
      wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ", name);
    }
    throw Wanted{"one of " + wanted};
  };
}

Setter flag(bool Options::*field) {
  return [field](Options& options, const std::string& value) {
    if (value != "0" && value != "1") throw Wanted{"0 or 1"};
    options.*field = value == "1";
  };
}

Setter number(int Options::*field) {
  return [field](Options& options, const std::string& value) {
    char* end = nullptr;
    const long read = std::strtol(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || read < 1 || read > 1'000'000)
      throw Wanted{"a number from 1 to 1000000"};
    options.*field = static_cast<int>(read);
  };
}

Setter text(std::string Options::*field) {
  return [field](Options& options, const std::string& value) { options.*field = value; };
}

void set_passes(Options& options, const std::string& value) {
  options.disabled_passes.clear();
  std::istringstream list(value);
  for (std::string name; std::getline(list, name, ',');)
    if (!name.empty()) options.disabled_passes.push_back(name);
}

constexpr Named<Rng> kRngs[] = {{"fused", Rng::Fused}, {"eager", Rng::Eager}};

const std::map<std::string, Setter>& setters() {
  static const auto& table = *new const std::map<std::string, Setter>{
      {"name", text(&Options::name)},
      {"unsupported", choice(&Options::unsupported, compiler::kUnsupported)},
      {"max_versions", number(&Options::max_versions)},
      {"drop_versions", flag(&Options::drop_versions)},
      {"dynamic", choice(&Options::dynamic, compiler::kDynamic)},
      {"max_sizes", number(&Options::max_sizes)},
      {"compile_all_sizes", flag(&Options::compile_all_sizes)},
      {"check_recapture", flag(&Options::check_recapture)},
      {"verify", flag(&Options::verify)},
      {"freeze", flag(&Options::freeze)},
      {"disabled_passes", set_passes},
      {"rng", choice(&Options::rng, kRngs)},
      {"backend", choice(&Options::backend, compiler::kBackends)},
      {"toolchain", choice(&Options::toolchain, compiler::kToolchains)},
      {"isa", choice(&Options::isa, compiler::kIsas)},
      {"compile", choice(&Options::compile, compiler::kCompile)},
      {"compile_failure", choice(&Options::compile_failure, compiler::kCompileFailures)},
      {"debug_compare", flag(&Options::debug_compare)},
      {"cache", choice(&Options::cache, compiler::kCaches)},
      {"cache_tag", text(&Options::cache_tag)},
  };
  return table;
}

}  // namespace

void set_option(Options& options, const std::string& name, const std::string& value) {
  const auto found = setters().find(name);
  if (found == setters().end()) {
    std::string names;
    for (const auto& [known, setter] : setters()) names += (names.empty() ? "" : ", ") + known;
    throw Error(ErrorCode::InvalidArgument, "c:options", fmt::format("there is no option \"{}\"", name),
                "The options are " + names);
  }
  try {
    found->second(options, value);
  } catch (const Wanted& wanted) {
    throw Error(ErrorCode::InvalidArgument, "c:options",
                fmt::format("\"{}\" is no value of the option {}", value, name), "Use " + wanted.text);
  }
}

}  // namespace antegrad::c
