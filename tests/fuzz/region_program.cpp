#include "fuzz/region_program.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "fuzz/rng.h"

namespace antegrad::fuzz {
namespace {

using Kind = RegionStepKind;

constexpr const char* kKindNames[] = {"op",   "write", "log",         "cond",       "while",
                                      "scan", "map",   "associative", "checkpoint", "region"};
constexpr int kOps = 29, kFirstRandomOp = 27;

class RegionGenerator {
 public:
  explicit RegionGenerator(uint64_t seed) : rng_(seed) {}

  RegionSteps steps(int depth, int64_t most, size_t results) {
    RegionSteps out;
    const auto count = rng_.range(1, most);
    for (int64_t i = 0; i < count; ++i) out.steps.push_back(step(depth));
    for (size_t k = 0; k < results; ++k) out.results.push_back(number(k));
    return out;
  }

 private:
  /// Chooses recent tensors more often than others: `back` counts from the last one.
  size_t number(size_t k = 0) {
    return rng_.percent(60) ? kLastTensor - k - static_cast<size_t>(rng_.below(2))
                            : static_cast<size_t>(rng_.below(40));
  }

  RegionStep step(int depth) {
    RegionStep step;
    step.a = number();
    step.b = number();
    step.c = number();
    step.limit = static_cast<double>(rng_.range(-4, 4)) * 0.5 + 0.01;
    const auto roll = rng_.below(100);
    const int64_t regions = depth == 0 ? 60 : depth == 1 ? 35 : depth == 2 ? 20 : 0;
    if (roll < regions) {
      add_region(step, depth);
    } else if (roll >= 97) {
      step.kind = Kind::Log;
    } else if (roll >= 91 && depth == 0) {
      step.kind = Kind::Write;
      step.op = static_cast<int>(rng_.below(3));
    } else {
      step.op = static_cast<int>(rng_.below(rng_.percent(50) ? kOps : kFirstRandomOp));
    }
    return step;
  }

  void add_region(RegionStep& step, int depth) {
    static const std::vector<Kind> kKinds{Kind::Cond, Kind::Cond,        Kind::While,      Kind::Scan,
                                          Kind::Map,  Kind::Associative, Kind::Checkpoint, Kind::Call};
    step.kind = rng_.pick(kKinds);
    step.op = static_cast<int>(rng_.below(4));
    step.turns = rng_.range(step.kind == Kind::While ? 0 : 1, 3);
    const auto count = static_cast<size_t>(rng_.range(1, 2));
    for (size_t k = 0; k < count; ++k) step.arguments.push_back(number(k));
    if (step.kind == Kind::Associative) return;
    const bool carries = step.kind == Kind::While || step.kind == Kind::Scan;
    const auto more = static_cast<size_t>(step.kind == Kind::Scan ? rng_.range(0, 2) : 0);
    const auto results = carries ? count + more : static_cast<size_t>(rng_.range(1, 2));
    for (int i = 0; i < (step.kind == Kind::Cond ? 2 : 1); ++i)
      step.bodies.push_back(steps(depth + 1, 4, results));
  }

  Rng rng_;
};

void print(const RegionSteps& body, const std::string& indent, std::string& out) {
  for (const auto& step : body.steps) {
    out += c10::str(indent, kKindNames[static_cast<size_t>(step.kind)], " ", step.op, " (", step.a, ", ",
                    step.b, ", ", step.c, ") limit ", step.limit, " turns ", step.turns, " of");
    for (auto number : step.arguments) out += c10::str(" ", number);
    out += "\n";
    for (const auto& inner : step.bodies) print(inner, indent + "  | ", out);
  }
  out += indent + "return";
  for (auto number : body.results) out += c10::str(" ", number);
  out += "\n";
}

/// Calls use(place) for all lists of steps.
void for_each_list(RegionSteps& body, const std::function<void(RegionSteps&)>& use) {
  use(body);
  for (auto& step : body.steps)
    for (auto& inner : step.bodies) for_each_list(inner, use);
}

}  // namespace

RegionProgram generate_regions(uint64_t seed) { return {seed, RegionGenerator(seed).steps(0, 6, 2)}; }

std::string to_string(const RegionProgram& program) {
  std::string out;
  print(program.main, "", out);
  return out;
}

bool has_kind(const RegionProgram& program, RegionStepKind kind) {
  bool found = false;
  auto copy = program;
  for_each_list(copy.main, [&](RegionSteps& body) {
    found = found || std::ranges::any_of(body.steps, [&](const auto& step) { return step.kind == kind; });
  });
  return found;
}

std::vector<RegionProgram> smaller(const RegionProgram& program) {
  std::vector<RegionProgram> out;
  size_t lists = 0;
  auto copy = program;
  for_each_list(copy.main, [&](RegionSteps&) { ++lists; });
  for (size_t list = 0; list < lists; ++list)
    for (bool more = true, inlines = false; more; inlines = true) {
      for (size_t i = 0;; ++i) {
        auto next = program;
        size_t at = 0;
        bool done = false;
        for_each_list(next.main, [&](RegionSteps& body) {
          if (at++ != list || i >= body.steps.size() || done) return;
          done = true;
          const auto bodies = std::move(body.steps[i].bodies);
          body.steps.erase(body.steps.begin() + static_cast<int64_t>(i));
          if (inlines && !bodies.empty())
            body.steps.insert(body.steps.begin() + static_cast<int64_t>(i), bodies.back().steps.begin(),
                              bodies.back().steps.end());
        });
        if (!done) break;
        out.push_back(std::move(next));
      }
      more = !inlines;
    }
  return out;
}

}  // namespace antegrad::fuzz
