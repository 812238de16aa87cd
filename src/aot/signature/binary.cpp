#include "aot/signature/binary.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "ir/binary.h"
#include "util/overloaded.h"

namespace antegrad::aot {
namespace {

constexpr uint8_t kDetach = 2;  ///< in place of the value of requires_grad

constexpr int32_t kMostSlots = 1 << 20;

/// The view ops of a signature as a graph: graphs have a binary form, single nodes do not. Value 0 is what
/// each of them is a view of.
ir::Graph graph_of_views(const Signature& signature) {
  ir::Graph graph;
  graph.add_value({});
  for (const auto& step : signature.steps)
    if (const auto* view = std::get_if<MakeView>(&step)) {
      auto node = view->node;
      node.outputs.clear();
      node.returns.clear();
      node.effects = {};
      ir::for_each_input(node, [](ir::ValueId& value) { value = ir::ValueId{0}; });
      graph.nodes.push_back(std::move(node));
    }
  return graph;
}

class SignatureWriter {
 public:
  explicit SignatureWriter(ByteWriter& out) : out_(out), to_(out) {}

  void write(const Signature& signature) {
    for (const auto number :
         {signature.user_inputs, signature.inputs, signature.slots, signature.user_outputs})
      out_.varint(static_cast<uint64_t>(number));
    to_.indices(signature.graph_inputs);
    views_ = graph_of_views(signature);
    to_.graph(views_, ir::GraphParts::All);
    to_.list(signature.steps, [&](const Step& step) {
      out_.u8(static_cast<uint8_t>(step.index()));
      std::visit(*this, step);
    });
    to_.list(signature.shared, [&](const SharedMemory& shared) {
      to_.indices(shared.inputs);
      numbers(shared.offsets);
    });
    to_.indices(signature.written);
    to_.list(signature.apart, [&](const DisjointInputs& pair) {
      to_.index(pair.written);
      to_.index(pair.other);
      out_.signed_varint(pair.distance);
    });
    pairs(signature.same);
    to_.indices(signature.changed);
    to_.indices(signature.views);
    to_.indices(signature.gradients);
    pairs(signature.backward_writes);
    to_.indices(signature.fixed_offsets);
  }

  void operator()(const MakeBase& s) {
    to_.index(s.slot);
    to_.indices(s.members);
    out_.signed_varint(s.offset);
    out_.signed_varint(s.elements);
    out_.flag(s.escapes);
  }
  void operator()(const TakeRngState& s) { to_.index(s.slot); }
  void operator()(const TakeGenerators& s) { to_.indices(s.inputs); }
  void operator()(const SetGenerator& s) {
    to_.index(s.input);
    to_.index(s.result);
  }
  void operator()(const RunGraph&) {}
  void operator()(const Attach& s) {
    source(s.source);
    to_.index(s.tangent);
  }
  void operator()(const SetVersion& s) {
    to_.index(s.result);
    out_.u32(s.version);
  }
  void operator()(const SaveForBackward&) {}
  void operator()(const ResizeInput& s) {
    to_.index(s.input);
    numbers(s.sizes);
  }
  void operator()(const WriteBack& s) {
    to_.index(s.slot);
    to_.index(s.result);
    to_.indices(s.members);
    out_.flag(s.with_history);
  }
  void operator()(const MakeView& s) {
    source(s.source);
    to_.index(s.result);
    out_.flag(s.no_grad);
  }
  void operator()(const MakeOutput& s) {
    source(s.source);
    out_.flag(s.requires_grad);
  }
  void operator()(const SetTensor& s) {
    source(s.tensor);
    source(s.source);
  }
  void operator()(const BumpVersion& s) {
    to_.index(s.input);
    out_.u32(s.by);
  }
  void operator()(const RequireGrad& s) {
    to_.index(s.input);
    out_.u8(s.detach ? kDetach : static_cast<uint8_t>(s.value));
  }
  void operator()(const RetainGrad& s) { source(s.source); }

 private:
  void source(const Source& source) {
    to_.enumerator(source.kind);
    to_.index(source.index);
  }
  void numbers(const std::vector<int64_t>& numbers) {
    to_.list(numbers, [&](int64_t number) { out_.signed_varint(number); });
  }
  void pairs(const std::vector<std::pair<int32_t, int32_t>>& pairs) {
    to_.list(pairs, [&](const auto& pair) {
      to_.index(pair.first);
      to_.index(pair.second);
    });
  }

  ByteWriter& out_;
  ir::Graph views_;  // the encoder refers to its texts
  ir::Encoder to_;
};

class SignatureReader {
 public:
  explicit SignatureReader(ByteReader& in) : in_(in), from_(in) {}

  Signature read() {
    s_.user_inputs = count(kMostSlots);
    s_.inputs = count(kMostSlots);
    s_.slots = count(kMostSlots);
    s_.user_outputs = count(kMostSlots);
    if (s_.user_inputs > s_.inputs || s_.inputs > s_.slots) from_.fail("inputs and slots do not fit");
    s_.graph_inputs = from_.indices(s_.slots);
    views_ = from_.graph();
    if (views_.values.size() != 1) from_.fail("view ops have more than one tensor");
    s_.steps = from_.list(1, [&] { return step(); });
    s_.shared = from_.list(2, [&] { return shared(); });
    s_.written = inputs();
    s_.apart = from_.list(3, [&] { return DisjointInputs{input(), input(), in_.signed_varint()}; });
    s_.same = from_.list(2, [&] { return std::pair<int32_t, int32_t>{input(), input()}; });
    s_.changed = inputs();
    s_.views = inputs();
    s_.gradients = inputs();
    s_.backward_writes = from_.list(2, [&] {
      return std::pair<int32_t, int32_t>{input(), from_.index(kMostSlots)};
    });
    s_.fixed_offsets = inputs();
    from_.check();
    if (made_views_ != views_.nodes.size()) from_.fail("there are view ops that no step uses");
    return std::move(s_);
  }

 private:
  // Members of braced lists are read from left to right, as they are written.
  Step step() {
    switch (in_.u8()) {
      case 0:
        return base();
      case 1:
        return TakeRngState{slot()};
      case 2:
        return RunGraph{};
      case 3:
        return Attach{source(), any()};
      case 4:
        return SetVersion{any(), in_.u32()};
      case 5:
        return SaveForBackward{};
      case 6:
        return ResizeInput{input(), numbers()};
      case 7:
        return WriteBack{slot(), any(), inputs(), in_.flag()};
      case 8:
        return view();
      case 9:
        return MakeOutput{source(), in_.flag()};
      case 10:
        return SetTensor{source(), source()};
      case 11:
        return BumpVersion{input(), in_.u32()};
      case 12:
        return require_grad();
      case 13:
        return TakeGenerators{inputs()};
      case 14:
        return SetGenerator{input(), any()};
      case 15:
        return RetainGrad{source()};
      default:
        from_.fail("there is no such step of a signature");
    }
  }
  RequireGrad require_grad() {
    const auto which = input();
    const auto what = in_.u8();
    if (what > kDetach) from_.fail("a step sets requires_grad to no bool");
    return {which, what == 1, what == kDetach};
  }
  MakeBase base() {
    MakeBase base{slot(), inputs(), in_.signed_varint(), in_.signed_varint(), in_.flag()};
    if (base.members.empty()) from_.fail("a base has no members");
    return base;
  }
  MakeView view() {
    if (made_views_ >= views_.nodes.size()) from_.fail("a view has no op");
    MakeView view{source(), views_.nodes[made_views_], any(), in_.flag()};
    ++made_views_;
    return view;
  }
  Source source() {
    Source source{from_.enumerator(Source::Kind::View), from_.index(kMostSlots, -1)};
    const auto limit = source.kind == Source::Kind::Input  ? s_.inputs
                       : source.kind == Source::Kind::View ? static_cast<int32_t>(made_views_)
                                                           : kMostSlots;
    if ((source.kind != Source::Kind::Undefined && source.index < 0) || source.index >= limit)
      from_.fail(fmt::format("a step refers to tensor {} of {}", source.index, limit));
    return source;
  }
  SharedMemory shared() {
    SharedMemory shared{inputs(), numbers()};
    if (shared.inputs.empty() || shared.inputs.size() != shared.offsets.size())
      from_.fail("shared memory has other inputs than offsets");
    return shared;
  }
  std::vector<int64_t> numbers() {
    return from_.list(1, [&] { return in_.signed_varint(); });
  }
  int32_t count(int32_t most) {
    const auto number = in_.varint();
    if (number > static_cast<uint64_t>(most)) from_.fail(fmt::format("{} is too many", number));
    return static_cast<int32_t>(number);
  }
  int32_t slot() { return from_.index(s_.slots); }
  int32_t input() { return from_.index(s_.inputs); }
  int32_t any() { return from_.index(kMostSlots); }
  std::vector<int32_t> inputs() { return from_.indices(s_.inputs); }

  ByteReader& in_;
  ir::Decoder from_;
  Signature s_;
  ir::Graph views_;
  size_t made_views_ = 0;
};

void require(bool fits, const char* fact) {
  if (!fits)
    throw Error(ErrorCode::Io, "package", fmt::format("a signature does not fit its graph: {}", fact),
                "Make the package again");
}

}  // namespace

void write(ByteWriter& out, const Signature& signature) { SignatureWriter(out).write(signature); }

Signature read_signature(ByteReader& in) { return SignatureReader(in).read(); }

void check_signature(const Signature& signature, const ir::Graph& forward, size_t tangents) {
  require(signature.graph_inputs.size() == forward.inputs.size(), "it has other inputs");
  const auto results = static_cast<int32_t>(forward.outputs.size());
  const auto fits = [&](const Source& source) {
    return source.kind != Source::Kind::Result || source.index < results;
  };
  int32_t outputs = 0, runs = 0;
  bool has_run = false;
  const auto after_run = [&](bool fits) { require(fits && has_run, "a step has no result to work on"); };
  const Overloaded check{
      [&](const MakeBase&) { require(!has_run, "a base is made after the run"); },
      [&](const TakeRngState&) { require(!has_run, "random numbers are drawn after the run"); },
      [&](const RunGraph&) {
        ++runs;
        has_run = true;
      },
      [&](const Attach& s) { after_run(fits(s.source) && static_cast<size_t>(s.tangent) < tangents); },
      [&](const SetVersion& s) { after_run(s.result < results); },
      [&](const SaveForBackward&) { after_run(true); },
      [&](const ResizeInput&) { after_run(true); },
      [&](const WriteBack& s) { after_run(s.result < results); },
      [&](const MakeView& s) { after_run(fits(s.source) && s.source.kind != Source::Kind::Undefined); },
      [&](const MakeOutput& s) {
        after_run(fits(s.source));
        ++outputs;
      },
      [&](const SetTensor& s) { after_run(fits(s.tensor) && fits(s.source)); },
      [](const BumpVersion&) {},
      [](const RequireGrad&) {},
      [](const TakeGenerators&) { require(false, "it draws from a generator"); },
      [&](const RetainGrad& s) { after_run(fits(s.source)); },
      [](const SetGenerator&) { require(false, "it draws from a generator"); },
  };
  for (const auto& step : signature.steps) std::visit(check, step);
  require(runs == 1, "it is not run once");
  require(outputs == signature.user_outputs, "it has other outputs");
}

}  // namespace antegrad::aot
