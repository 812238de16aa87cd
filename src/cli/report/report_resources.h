#pragma once
#include <string_view>

/// The files of src/cli/report, which the build puts into the command.
namespace antegrad::cli::resources {

std::string_view page();  ///< HTML with @STYLE@, @DATA@ and @SCRIPT@
std::string_view style();
std::string_view script();

}  // namespace antegrad::cli::resources
