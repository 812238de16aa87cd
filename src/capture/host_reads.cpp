#include "capture/host_reads.h"

#include <c10/util/StringUtil.h>

#include "antegrad/error.h"
#include "capture/place.h"
#include "capture/recorder.h"
#include "capture/tape.h"
#include "util/call_site.h"

namespace antegrad::capture {

void HostReads::on_access(const c10::TensorImpl& tensor) {
  if (recorder_.tape != nullptr) return recorder_.tape->on_access(tensor);
  const Error refusal(
      ErrorCode::DataRead, "capture:data_ptr",
      c10::str("the function accesses the memory of a tensor of shape ", tensor.sizes(),
               " from outside through a pointer, which later calls would not do"),
      "Compute with tensor ops, pass what is read as an argument, or set Options::unsupported "
      "to Eager or Break");
  auto placed = with_place(refusal, recorder_.graph(), call_stack());
  recorder_.last_error = std::make_exception_ptr(placed);
  throw placed;
}

}  // namespace antegrad::capture
