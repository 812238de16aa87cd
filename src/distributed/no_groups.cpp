#include "antegrad/error.h"
#include "distributed/groups.h"

namespace antegrad::distributed {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::UnsupportedOp, "distributed", "this LibTorch was built without c10d and Gloo",
              "Build antegrad against a LibTorch with USE_DISTRIBUTED and USE_GLOO");
}

}  // namespace

bool available() { return false; }
Place place_in(const std::string&) { refuse(); }
void agree(const std::string&, const std::string&) { refuse(); }
Wait start_sum(const at::Tensor&, const std::string&, std::optional<int64_t>) { refuse(); }
Wait start_broadcast(const at::Tensor&, int64_t, const std::string&) { refuse(); }
Group gloo(const std::string&, int64_t, int64_t, const GlooOptions&) { refuse(); }
void leave(const Group&) { refuse(); }

}  // namespace antegrad::distributed
