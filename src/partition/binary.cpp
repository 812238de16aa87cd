#include "partition/binary.h"

#include <limits>

#include "ir/binary.h"

namespace antegrad::partition {
namespace {

void write_decision(ir::Encoder& to, const Decision& decision) {
  to.index(decision.value.index);
  to.string(decision.op);
  to.string(decision.scope);
  to.out.signed_varint(decision.bytes);
  to.out.flag(decision.saved);
  to.string(decision.reason);
}

Decision read_decision(ir::Decoder& from) {
  constexpr size_t kAny = std::numeric_limits<int32_t>::max();  // the joint graph is not available here
  Decision out;
  out.value = {from.index(kAny, -1)};
  out.op = from.string();
  out.scope = from.string();
  out.bytes = from.in.signed_varint();
  out.saved = from.in.flag();
  out.reason = from.string();
  return out;
}

Saved read_saved(ir::Decoder& from, const Partition& partition) {
  Saved out;
  // The inputs of the joint graph are those of the forward graph and the tangents of the backward graph.
  out.input = from.index(partition.forward.inputs.size() + partition.backward.inputs.size(), -1);
  out.output = from.index(partition.forward.outputs.size(), -1);
  if ((out.input < 0) == (out.output < 0)) from.fail("a saved value is not either an input or an output");
  return out;
}

}  // namespace

void write(ByteWriter& out, const Partition& partition) {
  ir::Encoder to(out);
  to.graph(partition.forward, ir::GraphParts::All);
  to.graph(partition.backward, ir::GraphParts::All);
  to.list(partition.saved, [&](const Saved& saved) {
    to.index(saved.input);
    to.index(saved.output);
  });
  to.list(partition.decisions, [&](const Decision& decision) { write_decision(to, decision); });
  out.signed_varint(partition.saved_bytes);
  out.signed_varint(partition.peak.forward);
  out.signed_varint(partition.peak.backward);
}

Partition read_partition(ByteReader& in) {
  constexpr size_t kMinSaved = 2, kMinDecision = 6;
  ir::Decoder from(in);
  Partition out;
  out.forward = from.graph();
  out.backward = from.graph();
  out.saved = from.list(kMinSaved, [&] { return read_saved(from, out); });
  if (out.saved.size() > out.backward.inputs.size()) from.fail("more is saved than the backward graph takes");
  out.decisions = from.list(kMinDecision, [&] { return read_decision(from); });
  out.saved_bytes = in.signed_varint();
  out.peak.forward = in.signed_varint();
  out.peak.backward = in.signed_varint();
  from.check();
  return out;
}

}  // namespace antegrad::partition
