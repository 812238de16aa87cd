#include "fuzz/shrink.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

void replace_uses(Program& program, int from, int to) {
  for (Statement& s : program.statements) std::replace(s.args.begin(), s.args.end(), from, to);
  std::replace(program.outputs.begin(), program.outputs.end(), from, to);
}

/// Also removes everything that depends on the removed statements.
Program without_statements(const Program& program, size_t first, size_t count) {
  Program smaller = program;
  smaller.statements.clear();
  std::vector<int> gone;
  auto is_gone = [&](int var) { return std::find(gone.begin(), gone.end(), var) != gone.end(); };
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const Statement& s = program.statements[i];
    const bool removed =
        (i >= first && i < first + count) || std::any_of(s.args.begin(), s.args.end(), is_gone);
    if (removed)
      gone.insert(gone.end(), s.results.begin(), s.results.end());
    else
      smaller.statements.push_back(s);
  }
  std::erase_if(smaller.outputs, is_gone);
  return smaller;
}

/// Replaces the result by an argument.
Program with_bypassed_statement(const Program& program, size_t index, size_t arg) {
  Program smaller = program;
  const Statement s = program.statements[index];
  smaller.statements.erase(smaller.statements.begin() + static_cast<int64_t>(index));
  for (const int result : s.results) replace_uses(smaller, result, s.args[arg]);
  return smaller;
}

void make_contiguous(TensorSpec& spec) {
  spec.link = Link::Fresh;
  spec.base = kUndefined;
  spec.offset = 0;
  spec.strides.assign(spec.sizes.size(), 1);
  spec.storage_numel = c10::multiply_integers(spec.sizes);
  for (size_t d = spec.sizes.size(); d-- > 1;)
    spec.strides[d - 1] = spec.strides[d] * std::max<int64_t>(1, spec.sizes[d]);
}

bool is_valid(const Program& program) {
  World world;
  try {
    world = make_world(program);
  } catch (const std::exception&) {
    return false;
  }
  try {
    const at::AutoGradMode mode(at::GradMode::is_enabled() && !program.called_without_grad);
    run(program, world.inputs, world.captured, RunMode::Checked);
    return true;
  } catch (const c10::Error&) {
    return !program.derivatives.empty();  // programs with derivatives may throw in eager
  } catch (const std::exception&) {
    return false;
  }
}

class Shrinker {
 public:
  Shrinker(const Program& program, const std::function<bool(const Program&)>& fails, int max_checks)
      : best_(program), fails_(fails), checks_left_(max_checks) {}

  Program shrink() {
    bool smaller = true;
    while (smaller && checks_left_ > 0) {
      smaller = drop_statements();
      smaller |= drop_outputs();
      smaller |= drop_tensors();
      smaller |= bypass_statements();
      smaller |= simplify_tensors();
      smaller |= drop_derivatives();
      smaller |= simplify_grad_modes();
      smaller |= keep_less();
    }
    return best_;
  }

 private:
  bool accept(const Program& candidate) {
    if (checks_left_ <= 0) return false;
    if (!is_valid(candidate)) return false;
    --checks_left_;
    if (!fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }

  bool drop_statements() {
    bool any = false;
    for (size_t count = std::max<size_t>(1, best_.statements.size() / 2); count > 0; count /= 2)
      for (size_t end = best_.statements.size(); end > 0; end = std::min(end - 1, best_.statements.size()))
        any |= end >= count && accept(without_statements(best_, end - count, count));
    return any;
  }

  bool bypass_statements() {
    bool any = false;
    for (size_t i = best_.statements.size(); i-- > 0;) {
      if (i >= best_.statements.size() || best_.statements[i].results.empty()) continue;
      for (size_t arg = 0; i < best_.statements.size() && arg < best_.statements[i].args.size(); ++arg)
        if (accept(with_bypassed_statement(best_, i, arg))) {
          any = true;
          break;
        }
    }
    return any;
  }

  bool drop_outputs() {
    bool any = false;
    for (size_t i = best_.outputs.size(); i-- > 0;) {
      Program candidate = best_;
      candidate.outputs.erase(candidate.outputs.begin() + static_cast<int64_t>(i));
      any |= accept(candidate);
    }
    return any;
  }

  bool drop_tensors() {
    bool any = false;
    for (size_t i = best_.tensors.size(); i-- > 0;) {
      Program candidate = best_;
      candidate.tensors.erase(candidate.tensors.begin() + static_cast<int64_t>(i));
      any |= accept(candidate);
    }
    return any;
  }

  bool drop_derivatives() {
    bool any = false;
    for (size_t i = best_.derivatives.size(); i-- > 0;) {
      if (best_.derivatives.size() == 1) break;
      Program candidate = best_;
      candidate.derivatives.erase(candidate.derivatives.begin() + static_cast<int64_t>(i));
      any |= accept(candidate);
    }
    return any;
  }

  bool simplify_grad_modes() {
    bool any = false;
    for (size_t i = 0; i < best_.statements.size(); ++i) {
      if (best_.statements[i].grad_mode == GradMode::Outer) continue;
      Program candidate = best_;
      candidate.statements[i].grad_mode = GradMode::Outer;
      any |= accept(candidate);
    }
    if (!best_.called_without_grad) return any;
    Program candidate = best_;
    candidate.called_without_grad = false;
    return accept(candidate) || any;
  }

  bool keep_less() {
    bool any = false;
    for (size_t i = 0; i < best_.statements.size(); ++i) {
      if (!best_.statements[i].kept) continue;
      Program candidate = best_;
      candidate.statements[i].kept = false;
      any |= accept(candidate);
    }
    return any;
  }

  /// Each step replaces a specification by a simpler one, so this terminates.
  bool simplify_tensors() {
    using Step = void (*)(TensorSpec&);
    const std::vector<Step> steps = {
        make_contiguous,
        [](TensorSpec& spec) { spec.captured = false; },
        [](TensorSpec& spec) { spec.requires_grad = spec.non_leaf = false; },
        [](TensorSpec& spec) {
          spec.requires_grad |= spec.non_leaf;
          spec.non_leaf = false;
        },
        [](TensorSpec& spec) { spec.whole_numbers = true; },
        [](TensorSpec& spec) { spec.awkward = false; },
        [](TensorSpec& spec) {
          if (spec.link == Link::Detach || spec.link == Link::Data) spec.link = Link::View;
        },
        [](TensorSpec& spec) {
          if (spec.sizes.size() > 1) spec.sizes.resize(1);
          if (spec.link == Link::Fresh) make_contiguous(spec);
          spec.strides.resize(spec.sizes.size());
        },
    };
    bool any = false;
    for (size_t i = 0; i < best_.tensors.size(); ++i)
      for (const Step step : steps) {
        Program candidate = best_;
        step(candidate.tensors[i]);
        any |= differ(candidate.tensors[i], best_.tensors[i]) && accept(candidate);
      }
    return any;
  }

  static bool differ(const TensorSpec& a, const TensorSpec& b) {
    return a.link != b.link || a.captured != b.captured || a.requires_grad != b.requires_grad ||
           a.non_leaf != b.non_leaf || a.awkward != b.awkward || a.whole_numbers != b.whole_numbers ||
           a.sizes != b.sizes || a.strides != b.strides || a.offset != b.offset ||
           a.storage_numel != b.storage_numel;
  }

  Program best_;
  const std::function<bool(const Program&)>& fails_;
  int checks_left_;
};

}  // namespace

Program shrink(const Program& program, const std::function<bool(const Program&)>& fails, int max_checks) {
  const at::AutoGradMode mode(!program.derivatives.empty());
  return Shrinker(program, fails, max_checks).shrink();
}

}  // namespace antegrad::fuzz
