#pragma once
#include <string_view>

/// The files of src/cli/report/page, which the build embeds.
namespace antegrad::cli::resources {

std::string_view page();  ///< HTML with the placeholders @STYLE@, @DATA@ and @SCRIPT@
std::string_view style();
std::string_view script();

}  // namespace antegrad::cli::resources
