#include "runtime/output_origins.h"

#include <map>
#include <utility>

#include "util/overloaded.h"

namespace antegrad::runtime {
namespace {

using Kind = aot::Source::Kind;

class Reader {
 public:
  explicit Reader(const aot::Signature& signature) : steps_(signature.steps) {}

  std::vector<OutputOrigin> run() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Overloaded read{
          [](const auto&) {},
          [&](const aot::Attach& s) { count(s.source); },
          [&](const aot::WriteBack& s) {
            count({Kind::Result, s.result});
          },
          [&](const aot::MakeView& s) {
            views_.push_back(i);
            count(s.source);
          },
          [&](const aot::SetTensor& s) {
            count(s.tensor);
            count(s.source);
          },
          [&](const aot::SetGenerator& s) {
            count({Kind::Result, s.result});
          },
          [&](const aot::RetainGrad& s) { count(s.source); },
          [&](const aot::MakeOutput& s) {
            count(s.source);
            outputs_.push_back(&s);
          },
      };
      std::visit(read, steps_[i]);
    }
    std::vector<OutputOrigin> origins;
    for (const auto* output : outputs_) origins.push_back(origin_of(*output));
    return origins;
  }

 private:
  void count(const aot::Source& source) { ++uses_[{source.kind, source.index}]; }

  OutputOrigin origin_of(const aot::MakeOutput& output) {
    if (output.source.kind == Kind::Undefined) return {OutputOrigin::kUndefined, {}};
    if (output.requires_grad) return {};
    OutputOrigin origin;
    auto source = output.source;
    while (source.kind == Kind::View && uses_[{source.kind, source.index}] == 1) {
      const auto step = views_[source.index];
      origin.views.insert(origin.views.begin(), step);
      source = std::get<aot::MakeView>(steps_[step]).source;
    }
    if (source.kind != Kind::Result || uses_[{source.kind, source.index}] != 1) return {};
    origin.result = source.index;
    return origin;
  }

  const std::vector<aot::Step>& steps_;
  std::vector<size_t> views_;  ///< the steps that make views, in order
  std::vector<const aot::MakeOutput*> outputs_;
  std::map<std::pair<Kind, int32_t>, int> uses_;
};

}  // namespace

std::vector<OutputOrigin> output_origins(const aot::Signature& signature) { return Reader(signature).run(); }

}  // namespace antegrad::runtime
