#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace antegrad {

/// Machine-readable kind of an error. docs/errors.md has one heading per code, spelled as error_code_name()
/// returns it.
enum class ErrorCode {
  Internal,             ///< a bug in antegrad
  InvalidArgument,      ///< arguments that the public API does not accept
  Parse,                ///< malformed graph text
  Verify,               ///< a graph that violates the rules of its stage
  UnknownPass,          ///< a pass name that does not exist
  DataRead,             ///< item(), data_ptr() or another read of tensor data during capture
  DataDependentShape,   ///< an op whose output size depends on tensor data
  UnsupportedTensor,    ///< sparse, quantized, nested … tensors
  UnsupportedOp,        ///< an op that cannot be recorded or functionalized
  UnsupportedArgument,  ///< an op argument without a text form (a generator, a script object …), or a value
                        ///< that cannot be an argument
  ForeignFake,          ///< a tensor that belongs to another capture
  NeedsGrad,            ///< a call needs gradients that compiled functions cannot compute
  TooManyVersions,      ///< Options::max_versions was exceeded
  GraphChanged,         ///< Options::check_recapture found a different graph
  Compile,              ///< generated code that does not compile, or object code that cannot be loaded
  CacheMiss,            ///< a cache miss with Cache::Strict
  Io,                   ///< a file that cannot be read or written
};

/// Returns the name of the enumerator.
std::string_view error_code_name(ErrorCode code);

/// The only exception type of antegrad. what() reads "[stage:op] fact with values. Way out."
class Error : public std::runtime_error {
 public:
  /// `where`: stage and op; `fact`: what happened, with values; `way_out`: what the user can do about it.
  Error(ErrorCode code, std::string_view where, std::string_view fact, std::string_view way_out = {});
  ErrorCode code() const { return code_; }  ///< machine-readable kind of the error

 private:
  ErrorCode code_;
};

}  // namespace antegrad
