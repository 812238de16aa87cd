#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

// JSON of a file that nobody vouches for. Functions throw Error(Parse); missing fields and wrong types throw
// nlohmann's exceptions, which load() turns into such errors.
namespace antegrad::program {

using Json = nlohmann::json;

/// Refuses texts that are nested deeper than 200 levels.
Json parse_json(const std::string& text, const std::string& record);
int64_t integer_of(const Json& json);
double real_of(const Json& json);  ///< "Infinity", "-Infinity" and "NaN" are texts in JSON
/// The only entry of a union: {"as_int": 3}.
std::pair<std::string, const Json&> member_of(const Json& json);
/// Throws Error(Parse) if the object `what` has a field that is not listed.
void check_fields(const Json& json, std::initializer_list<std::string_view> known, const char* what);

}  // namespace antegrad::program
