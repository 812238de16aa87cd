#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace antegrad {

/// What went wrong, for programs. docs/errors.md has one heading per code, spelled as error_code_name()
/// spells it.
enum class ErrorCode {
  Internal,             ///< a defect of antegrad itself
  InvalidArgument,      ///< a call of the public API with arguments it cannot take
  Parse,                ///< graph text that does not parse
  Verify,               ///< a graph that breaks the rules of its stage
  UnknownPass,          ///< a pass name that does not exist
  DataRead,             ///< item(), data_ptr() or another read of tensor data while capturing
  DataDependentShape,   ///< an op whose output size depends on tensor data
  UnsupportedTensor,    ///< sparse, quantized, nested … tensors
  UnsupportedOp,        ///< an op that cannot be recorded or functionalized
  UnsupportedArgument,  ///< an op argument without a text form (a generator, a script object …)
  ForeignFake,          ///< a tensor that belongs to another capture
  NeedsGrad,            ///< a call that would need gradients
  TooManyVersions,      ///< captured anew too often
  GraphChanged,         ///< Options::check_recapture found another graph
  Compile,              ///< generated code that a compiler rejects, or objects that cannot be loaded
  CacheMiss,            ///< Cache::Strict, and the cache does not have it
  Io,                   ///< a file that cannot be read or written
};

/// The enumerator's name.
std::string_view error_code_name(ErrorCode code);

/// The one exception type of antegrad. what() reads "[stage:op] fact with values. Way out."
class Error : public std::runtime_error {
 public:
  /// `where`: stage and op; `fact`: what happened, with values; `way_out`: what to do about it.
  Error(ErrorCode code, std::string_view where, std::string_view fact, std::string_view way_out = {});
  ErrorCode code() const { return code_; }  ///< what went wrong, for programs

 private:
  ErrorCode code_;
};

}  // namespace antegrad
