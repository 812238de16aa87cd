#pragma once
#include <c10/core/ScalarType.h>

#include <map>
#include <string>

namespace antegrad::program {

/// The dtypes of the classes that stand for storages in pickles of Python.
inline const std::map<std::string, at::ScalarType>& storage_types() {
  static const auto& table =
      *new std::map<std::string, at::ScalarType>{{"torch.FloatStorage", at::kFloat},
                                                 {"torch.DoubleStorage", at::kDouble},
                                                 {"torch.HalfStorage", at::kHalf},
                                                 {"torch.BFloat16Storage", at::kBFloat16},
                                                 {"torch.LongStorage", at::kLong},
                                                 {"torch.IntStorage", at::kInt},
                                                 {"torch.ShortStorage", at::kShort},
                                                 {"torch.CharStorage", at::kChar},
                                                 {"torch.ByteStorage", at::kByte},
                                                 {"torch.BoolStorage", at::kBool},
                                                 {"torch.ComplexFloatStorage", at::kComplexFloat},
                                                 {"torch.ComplexDoubleStorage", at::kComplexDouble}};
  return table;
}

}  // namespace antegrad::program
