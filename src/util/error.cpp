#include "antegrad/error.h"

#include <fmt/format.h>

namespace antegrad {
namespace {

std::string message(std::string_view where, std::string_view fact, std::string_view way_out) {
  auto text = fmt::format("[{}] {}.", where, fact);
  if (!way_out.empty()) text += fmt::format(" {}.", way_out);
  return text;
}

}  // namespace

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::Internal:
      return "Internal";
    case ErrorCode::InvalidArgument:
      return "InvalidArgument";
    case ErrorCode::Parse:
      return "Parse";
    case ErrorCode::Verify:
      return "Verify";
    case ErrorCode::UnknownPass:
      return "UnknownPass";
    case ErrorCode::DataRead:
      return "DataRead";
    case ErrorCode::DataDependentShape:
      return "DataDependentShape";
    case ErrorCode::UnsupportedTensor:
      return "UnsupportedTensor";
    case ErrorCode::UnsupportedOp:
      return "UnsupportedOp";
    case ErrorCode::UnsupportedArgument:
      return "UnsupportedArgument";
    case ErrorCode::ForeignFake:
      return "ForeignFake";
    case ErrorCode::NeedsGrad:
      return "NeedsGrad";
    case ErrorCode::TooManyVersions:
      return "TooManyVersions";
    case ErrorCode::GraphChanged:
      return "GraphChanged";
    case ErrorCode::Compile:
      return "Compile";
    case ErrorCode::CacheMiss:
      return "CacheMiss";
    case ErrorCode::Io:
      return "Io";
  }
  return "Internal";
}

Error::Error(ErrorCode code, std::string_view where, std::string_view fact, std::string_view way_out)
    : std::runtime_error(message(where, fact, way_out)), code_(code) {}

}  // namespace antegrad
