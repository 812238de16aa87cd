#include "symbolic/binary.h"

#include "ir/binary.h"

namespace antegrad::symbolic {

void write(ByteWriter& out, const Shapes& shapes) {
  ir::Encoder to(out);
  to.list(shapes.symbols, [&](const ir::Symbol& symbol) { to.symbol(symbol); });
  to.list(shapes.tensors, [&](const Shapes::Tensor& tensor) {
    out.flag(tensor.defined);
    to.dims(tensor.sizes);
    to.dims(tensor.strides);
  });
}

Shapes read_shapes(ByteReader& in) {
  constexpr size_t kMinSymbol = 3, kMinTensor = 3;
  ir::Decoder from(in);
  Shapes out;
  out.symbols = from.list(kMinSymbol, [&] { return from.symbol(); });
  from.symbols = out.symbols.size();
  out.tensors = from.list(kMinTensor, [&] {
    Shapes::Tensor tensor;
    tensor.defined = in.flag();
    tensor.sizes = from.dims();
    tensor.strides = from.dims();
    return tensor;
  });
  return out;
}

}  // namespace antegrad::symbolic
