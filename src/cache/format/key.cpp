#include "cache/format/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "antegrad/error.h"
#include "cache/format/line_diff.h"
#include "cache/format/wire.h"

namespace antegrad::cache {
namespace {

constexpr std::string_view kKeyMagic("AGKEY1\n\0", 8);
constexpr uint64_t kMinStoredField = 2 + 1 + 8 + 32 + 2;

bool is_name(std::string_view name) {
  const auto visible = [](char c) { return c > ' ' && c < '\x7f'; };
  return !name.empty() && name.size() <= Key::kMaxName && std::all_of(name.begin(), name.end(), visible);
}

void write_head(ByteWriter& out, size_t count) {
  out.raw(kKeyMagic);
  out.u32(static_cast<uint32_t>(count));
}

void write_identity(ByteWriter& out, const KeyField& field) {
  out.u16(static_cast<uint16_t>(field.name.size()));
  out.raw(field.name);
  out.u64(field.length);
  out.digest(field.hash);
}

void write_text(ByteWriter& out, const KeyField& field) {
  const bool kept = field.text && field.text->size() <= Key::kMaxStoredText;
  out.u16(kept ? 1 : 0);
  if (!kept) return;
  out.u32(static_cast<uint32_t>(field.text->size()));
  out.raw(*field.text);
}

/// Returns false when the text does not match its field.
bool read_text(ByteReader& in, KeyField& field) {
  const auto kept = in.u16();
  if (kept == 0) return !in.failed();
  const auto size = in.u32();
  if (kept != 1 || size != field.length || size > Key::kMaxStoredText) return false;
  const auto text = in.raw(size);
  if (in.failed() || sha256(text) != field.hash) return false;
  field.text = std::string(text);
  return true;
}

std::string describe(const KeyField& field) {
  return fmt::format("{} ({} bytes)", field.hash.hex(), field.length);
}

std::string changed(const KeyField& before, const KeyField& after) {
  if (before.text && after.text) return line_diff(*before.text, *after.text);
  return fmt::format("- {}\n+ {}\n", describe(before), describe(after));
}

std::string names_in_order(const Key& key) {
  std::string out;
  for (const auto& field : key.fields()) out += (out.empty() ? "" : " ") + field.name;
  return out;
}

}  // namespace

void Key::add(KeyField field) {
  if (!is_name(field.name)) {
    throw Error(ErrorCode::InvalidArgument, "cache",
                fmt::format("\"{}\" cannot be the name of a field of a key", field.name),
                "Use 1 to 255 printable characters without spaces");
  }
  if (find(field.name)) {
    throw Error(ErrorCode::InvalidArgument, "cache",
                fmt::format("the key already has a field \"{}\"", field.name),
                "Give each field a name of its own");
  }
  if (fields_.size() == kMaxFields) {
    throw Error(ErrorCode::InvalidArgument, "cache", fmt::format("a key has at most {} fields", kMaxFields),
                "Put several values into one field");
  }
  fields_.push_back(std::move(field));
}

Key& Key::add_text(std::string_view name, std::string text) {
  const auto hash = sha256(text);
  const auto length = text.size();
  add({std::string(name), length, hash, std::move(text)});
  return *this;
}

Key& Key::add_bytes(std::string_view name, std::string_view bytes) {
  return add_hash(name, sha256(bytes), bytes.size());
}

Key& Key::add_hash(std::string_view name, const Digest& hash, uint64_t length) {
  add({std::string(name), length, hash, std::nullopt});
  return *this;
}

const KeyField* Key::find(std::string_view name) const {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [&](const auto& f) { return f.name == name; });
  return found == fields_.end() ? nullptr : &*found;
}

Digest Key::digest() const {
  ByteWriter out;
  write_head(out, fields_.size());
  for (const auto& field : fields_) write_identity(out, field);
  return sha256(out.bytes());
}

std::string Key::to_text() const {
  size_t width = 0;
  for (const auto& field : fields_) width = std::max(width, field.name.size());
  std::string out;
  for (const auto& field : fields_) {
    out += fmt::format("{:<{}}  {}  {}\n", field.name, width, field.hash.hex(), field.length);
  }
  return out;
}

std::string Key::store() const {
  ByteWriter out;
  write_head(out, fields_.size());
  for (const auto& field : fields_) {
    write_identity(out, field);
    write_text(out, field);
  }
  return out.take();
}

std::optional<Key> Key::load(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.raw(kKeyMagic.size()) != kKeyMagic) return std::nullopt;
  const uint64_t count = in.u32();
  if (count > kMaxFields || count * kMinStoredField > in.left()) return std::nullopt;
  Key key;
  std::set<std::string_view> names;
  for (uint64_t i = 0; i < count; ++i) {
    KeyField field;
    const auto name = in.raw(in.u16());
    field.length = in.u64();
    field.hash = in.digest();
    if (!is_name(name) || !read_text(in, field) || !names.insert(name).second) return std::nullopt;
    field.name = std::string(name);
    key.fields_.push_back(std::move(field));
  }
  if (!in.at_end()) return std::nullopt;
  return key;
}

std::vector<FieldDifference> difference(const Key& before, const Key& after) {
  std::vector<FieldDifference> out;
  for (const auto& field : before.fields()) {
    const auto* other = after.find(field.name);
    if (!other) {
      out.push_back({field.name, fmt::format("- {}\n", describe(field))});
    } else if (field.hash != other->hash || field.length != other->length) {
      out.push_back({field.name, changed(field, *other)});
    }
  }
  for (const auto& field : after.fields()) {
    if (!before.find(field.name)) out.push_back({field.name, fmt::format("+ {}\n", describe(field))});
  }
  if (out.empty() && names_in_order(before) != names_in_order(after)) {
    out.push_back({"(order)", fmt::format("- {}\n+ {}\n", names_in_order(before), names_in_order(after))});
  }
  return out;
}

std::string to_text(const std::vector<FieldDifference>& differences) {
  std::string out;
  for (const auto& [name, text] : differences) {
    out += name + ":\n";
    for (std::string_view rest = text; !rest.empty();) {
      const auto end = std::min(rest.find('\n'), rest.size() - 1);
      out += fmt::format("  {}", rest.substr(0, end + 1));
      rest.remove_prefix(end + 1);
    }
  }
  return out;
}

size_t equal_fields(const Key& a, const Key& b) {
  return std::count_if(a.fields().begin(), a.fields().end(), [&](const auto& field) {
    const auto* other = b.find(field.name);
    return other && other->hash == field.hash && other->length == field.length;
  });
}

}  // namespace antegrad::cache
