#include "engine/segment.h"

namespace antegrad::engine {

std::vector<Node*> Segment::hooked() const {
  std::vector<Node*> out;
  for (const auto& node : plan_.nodes) out.push_back(node.get());
  for (const auto& trailing : plan_.trailing) out.push_back(trailing.node.get());
  return out;
}

void Segment::release(bool keep_graph) {
  if (!keep_graph)
    for (const auto& node : plan_.nodes) {
      node->will_release_variables();
      node->release_variables();
    }
  state_.release();
}

}  // namespace antegrad::engine
