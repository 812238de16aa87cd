#include <antegrad/control.h>
#include <antegrad/effects.h>
#include <torch/torch.h>

#include <algorithm>
#include <utility>

#include "fuzz/region_program.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Kind = RegionStepKind;

/// A tensor, and whether the body that has it may return it: it made it, or it is an argument.
struct Entry {
  Tensor tensor;
  bool own = false;
};
using Entries = std::vector<Entry>;

const Entry& choose(const Entries& entries, size_t number) {
  return number < 1000 ? entries[number % entries.size()]
                       : entries[entries.size() - 1 - (kLastTensor - number) % entries.size()];
}

class RegionRunner {
 public:
  RegionRunner(const RegionTensors& given, bool unrolled, std::vector<double>& log)
      : given_(given), unrolled_(unrolled), log_(log) {}

  Tensors results(const RegionSteps& body, Entries entries) const {
    for (const auto& step : body.steps) run(step, entries);
    Tensors out;
    for (auto number : body.results) {
      const auto& entry = choose(entries, number);
      // Results of regions are tensors of their own.
      out.push_back(entry.own && !unrolled_ ? entry.tensor : entry.tensor.clone());
    }
    return out;
  }

 private:
  void run(const RegionStep& step, Entries& entries) const {
    const auto &a = choose(entries, step.a), &b = choose(entries, step.b);
    switch (step.kind) {
      case Kind::Op:
        entries.push_back(op(step.op, a, b.tensor));
        return;
      case Kind::Write:
        return write(step.op, a, b.tensor);
      case Kind::Log:
        callback([&log = log_](const Tensor& t) { log.push_back(t.sum().item<double>()); }, a.tensor);
        return;
      default:
        for (const auto& result : region(step, entries)) entries.push_back({result, true});
    }
  }

  static void write(int op, const Entry& entry, const Tensor& b) {
    const auto& a = entry.tensor;
    if (!entry.own) return;
    if (op == 0) a.mul_(0.75);
    if (op == 1) a.add_(b * 0.5);
    if (op == 2) a.select(0, 0).copy_(b.select(0, 1));
  }

  Entry op(int op, const Entry& entry, const Tensor& b) const {
    const auto& a = entry.tensor;
    switch (op) {
      case 0:
        return {(a * b).tanh(), true};
      case 1:
        return {a.matmul(given_.w).tanh(), true};
      case 2:
        return {a.sin() + b * 0.5, true};
      case 3:
        return {(a + given_.b).sigmoid(), true};
      case 4:
        return {a.t().clone(at::MemoryFormat::Contiguous).t(), true};
      case 5:
        return {a.flip(0), true};
      case 6:
        return {given_.u.expand_as(a), false};
      case 7:
        return {at::where(a > b, a, b.cos()), true};
      case 8:
        return {a.detach() * b, true};
      case 9:
        return {a.cumsum(0).tanh(), true};
      case 10:
        return {a.softmax(1), true};
      case 11:
        return {a.argmax(1, true).to(at::kDouble) * 0.1 + a, true};
      case 12: {
        auto c = a.clone();
        c.select(0, 0).mul_(b.select(0, 0));
        return {c, true};
      }
      case 13: {
        const at::NoGradGuard no_grad;
        return {a.sin(), true};
      }
      case 14:
        return {at::cat({a.narrow(1, 0, 1), b.narrow(1, 1, 2)}, 1), true};
      case 15:
        return {a.tanh().exp() - 1, true};
      case 16:
        return {a.relu() * b, true};
      case 17:
        return entry;
      case 18:
        return {a.narrow(1, 0, 1).expand_as(a), entry.own};
      case 19:
        return {a.mean(0, true).expand_as(a), true};
      case 20:
        return {(a > 0).to(at::kDouble) * b, true};
      case 21:
        return {a.sum() * 0.1 + b, true};
      case 22:
        return {a.flip(1).sin().mul_(0.5).add_(b), true};
      case 23:
        return {gradient_of(a, b), true};
      case 24:
        return {a * given_.number + b, true};
      case 25:
        return {at::elu(a, given_.number).clamp_max(given_.number + 1), true};
      case 26:
        return {at::where(a > given_.number - 1, b.tanh() / given_.number, a), true};
      case 27:
        return {at::dropout(a.contiguous(), 0.4, true), true};  // numbers are drawn in memory order
      default:
        return {a + at::rand(b.sizes(), at::kDouble), true};
    }
  }

  static Tensor gradient_of(const Tensor& a, const Tensor& b) {
    if (!at::GradMode::is_enabled()) return a * b;
    const auto y = a.detach().requires_grad_();
    return torch::autograd::grad({(y * b).sin().sum()}, {y}, {}, true, true)[0] * a;
  }

  /// Bodies see what is outside, then their arguments.
  Tensors call(const RegionSteps& body, const Entries& outside, const Tensors& arguments) const {
    Entries entries;
    for (const auto& entry : outside) entries.push_back({entry.tensor, false});
    for (const auto& argument : arguments) entries.push_back({argument, true});
    return results(body, std::move(entries));
  }

  static Tensors means(const Tensors& lists) {
    Tensors out;
    for (size_t k = 0; k < lists.size(); ++k)
      out.push_back(k % 2 == 0 ? lists[k].mean(0) : lists[k].select(0, -1));
    return out;
  }

  Tensors region(const RegionStep& step, const Entries& entries) const {
    Tensors arguments;
    for (auto number : step.arguments) arguments.push_back(choose(entries, number).tensor);
    const auto condition = choose(entries, step.c).tensor.sum() > step.limit;
    switch (step.kind) {
      case Kind::Cond: {
        const auto body = [&](size_t i) {
          return [&, i](const Tensors& given) { return call(step.bodies[i], entries, given); };
        };
        if (unrolled_) return body(condition.item<bool>() ? 0 : 1)(arguments);
        return cond(condition, body(0), body(1), arguments);
      }
      case Kind::While:
        return loop(step, entries, arguments);
      case Kind::Scan:
        return scanned(step, entries, arguments);
      case Kind::Map:
        return mapped(step, entries);
      case Kind::Associative:
        return associative(step, entries);
      case Kind::Checkpoint: {
        const auto body = [runner = *this, &step](const Tensors& given) {
          return runner.call(step.bodies[0], {}, given);
        };
        return unrolled_ ? body(arguments) : checkpoint(body, arguments);
      }
      default:
        return repeated(step, entries, std::move(arguments));
    }
  }

  /// Calls of one region after each other, the first of them with a view that begins inside of its memory.
  Tensors repeated(const RegionStep& step, const Entries& entries, Tensors arguments) const {
    const auto body = [&](const Tensors& given) { return call(step.bodies[0], entries, given); };
    auto& first = arguments[0];
    if (step.op % 2 == 1) first = at::cat({first * 2, first}).narrow(0, first.size(0), first.size(0));
    Tensors results;
    for (int64_t turn = 0; turn < step.turns; ++turn) {
      results = unrolled_ ? body(arguments) : antegrad::region("part", body, arguments);
      for (size_t k = 0; k < std::min(results.size(), arguments.size()); ++k) arguments[k] = results[k];
    }
    return results;
  }

  Tensors loop(const RegionStep& step, const Entries& entries, Tensors carried) const {
    const auto goes_on = [&](const Tensor& turn, const Tensors& now) {
      return (turn < step.turns).logical_and(now[0].sum() < step.limit + 9);
    };
    const auto turn = [&](const Tensors& now) { return call(step.bodies[0], entries, now); };
    auto count = at::zeros({}, at::kLong);
    if (unrolled_) {
      for (; goes_on(count, carried).item<bool>(); count = count + 1) carried = turn(carried);
      for (auto& tensor : carried) tensor = tensor.clone();  // there may have been no turn
      return carried;
    }
    return std::get<1>(while_loop(
        goes_on, [&](const Tensor& n, const Tensors& now) { return std::tuple(n + 1, turn(now)); }, count,
        carried));
  }

  /// A list of tensors as one: on memory of its own, expanded, or with the elements innermost in memory.
  static Tensor list(const RegionStep& step, const Entries& entries) {
    Tensors parts;
    for (int64_t i = 0; i < step.turns; ++i)
      parts.push_back(choose(entries, i % 2 == 0 ? step.a : step.b).tensor);
    if (step.op == 0) return parts[0].expand({step.turns, -1, -1});
    if (step.op == 1) return at::stack(parts, -1).movedim(-1, 0);
    return at::stack(parts);
  }

  Tensors scanned(const RegionStep& step, const Entries& entries, Tensors carried) const {
    using Pair = std::pair<Tensors, Tensors>;
    const auto xs = list(step, entries);
    const auto turn = [&](const Tensors& now, const Tensor& x) {
      auto arguments = now;
      arguments.push_back(x);
      const auto results = call(step.bodies[0], entries, arguments);
      const auto middle = results.begin() + static_cast<int64_t>(now.size());
      return Pair(Tensors(results.begin(), middle), Tensors(middle, results.end()));
    };
    Pair out(carried, {});
    if (unrolled_) {
      std::vector<Tensors> lists(step.bodies[0].results.size() - carried.size());
      for (const auto& x : xs.unbind()) {
        auto next = turn(out.first, x);
        out.first = next.first;
        for (size_t k = 0; k < lists.size(); ++k) lists[k].push_back(next.second[k]);
      }
      for (const auto& parts : lists) out.second.push_back(at::stack(parts));
    } else {
      out = scan(turn, carried, xs);
    }
    for (const auto& mean : means(out.second)) out.first.push_back(mean);
    return out.first;
  }

  Tensors mapped(const RegionStep& step, const Entries& entries) const {
    const auto xs = list(step, entries);
    const auto each = [&](const Tensor& x) { return call(step.bodies[0], entries, {x}); };
    if (!unrolled_) return means(map(each, xs));
    std::vector<Tensors> lists(step.bodies[0].results.size());
    for (const auto& x : xs.unbind()) {
      const auto results = each(x);
      for (size_t k = 0; k < lists.size(); ++k) lists[k].push_back(results[k]);
    }
    Tensors out;
    for (const auto& parts : lists) out.push_back(at::stack(parts));
    return means(out);
  }

  /// The recurrence h <- a h + x.
  Tensors associative(const RegionStep& step, const Entries& entries) const {
    const auto xs = list(step, entries);
    const auto factors = xs.tanh();
    if (unrolled_) {
      auto h = xs.select(0, 0);
      Tensors all{h};
      for (int64_t i = 1; i < xs.size(0); ++i) all.push_back(h = factors.select(0, i) * h + xs.select(0, i));
      return means({at::stack(all)});
    }
    const auto both = [](const Tensors& first, const Tensors& then) {
      return Tensors{then[0] * first[0], then[0] * first[1] + then[1]};
    };
    return means({associative_scan(both, Tensors{factors, xs})[1]});
  }

  const RegionTensors given_;
  const bool unrolled_;
  std::vector<double>& log_;
};

}  // namespace

Tensors run_regions(const RegionProgram& program, const RegionTensors& tensors, bool unrolled,
                    std::vector<double>& log) {
  return RegionRunner(tensors, unrolled, log)
      .results(program.main, {{tensors.x.sin(), true}, {tensors.z, false}, {tensors.x, false}});
}

}  // namespace antegrad::fuzz
