#include "codegen/text/prelude.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "antegrad/error.h"

namespace antegrad::codegen {
namespace {

constexpr std::string_view kTexts[] = {
#include "codegen/text/prelude/base.h"
    ,
#include "codegen/text/prelude/round.h"
    ,
#include "codegen/text/prelude/select.h"
    ,
#include "codegen/text/prelude/sum.h"
    ,
#include "codegen/text/prelude/exp.h"
    ,
#include "codegen/text/prelude/log.h"
    ,
#include "codegen/text/prelude/log_f64.h"
    ,
#include "codegen/text/prelude/hyperbolic.h"
    ,
#include "codegen/text/prelude/trig.h"
    ,
#include "codegen/text/prelude/trig_f64.h"
    ,
#include "codegen/text/prelude/erf.h"
    ,
#include "codegen/text/prelude/power.h"
    ,
#include "codegen/text/prelude/divide.h"
    ,
#include "codegen/text/prelude/special.h"
    ,
#include "codegen/text/prelude/integer.h"
    ,
#include "codegen/text/prelude/half.h"
    ,
#include "codegen/text/prelude/random.h"
};

struct Type {
  std::string_view name, c, unsigned_c, signed_c, builtin, epsilon;
};
constexpr Type kTypes[] = {
    {"f32", "float", "uint32_t", "int32_t", "f", "__FLT_EPSILON__"},
    {"f64", "double", "uint64_t", "int64_t", "", "__DBL_EPSILON__"},
    {"i64", "int64_t", "uint64_t", "int64_t", "", ""},
    {"i32", "int32_t", "uint32_t", "int32_t", "", ""},
    {"i16", "int16_t", "uint16_t", "int16_t", "", ""},
    {"i8", "int8_t", "uint8_t", "int8_t", "", ""},
    {"u8", "uint8_t", "uint8_t", "int8_t", "", ""},
};

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string for_type(std::string text, const Type& type) {
  text = replace_all(std::move(text), "$t", type.name);
  text = replace_all(std::move(text), "$T", type.c);
  text = replace_all(std::move(text), "$U", type.unsigned_c);
  text = replace_all(std::move(text), "$I", type.signed_c);
  text = replace_all(std::move(text), "$E", type.epsilon);
  return replace_all(std::move(text), "$B", type.builtin);
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  size_t at = 0;
  while ((at = line.find_first_not_of(' ', at)) != std::string_view::npos) {
    const size_t end = std::min(line.find(' ', at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of('\n'), end = text.find_last_not_of('\n');
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end + 1 - begin)) + "\n";
}

/// Appends the blocks for a marker line `//@ <words>` and the text below it.
void append_block(std::vector<PreludeBlock>& blocks, std::vector<std::string> words,
                  const std::string& text) {
  const auto keyword = std::find(words.begin(), words.end(), "for");
  const std::vector<std::string> names(words.begin(), keyword);
  if (keyword == words.end()) {
    blocks.push_back({names, text, {}});
    return;
  }
  for (auto name = keyword + 1; name != words.end(); ++name) {
    const auto type =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto& t) { return t.name == *name; });
    PreludeBlock block{{}, for_type(text, *type), {}};
    for (const auto& pattern : names) block.names.push_back(for_type(pattern, *type));
    blocks.push_back(std::move(block));
  }
}

/// Text above the first marker of a file is documentation and is skipped.
void append_file(std::vector<PreludeBlock>& blocks, std::string_view file) {
  constexpr std::string_view kMarker = "\n//@ ";
  for (size_t at = file.find(kMarker); at != std::string_view::npos;) {
    const size_t line = at + kMarker.size(), text = file.find('\n', line);
    at = file.find(kMarker, text);
    append_block(blocks, split_words(file.substr(line, text - line)),
                 trimmed(file.substr(text, at == std::string_view::npos ? at : at - text)));
  }
}

using Index = std::map<std::string, int, std::less<>>;

/// Returns the earlier blocks whose names occur in a block's text, with the blocks they use.
std::vector<int> find_uses(const std::vector<PreludeBlock>& blocks, const Index& index, int self) {
  std::set<int> uses;
  const std::string& text = blocks[self].text;
  const auto in_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  for (auto at = text.begin(); (at = std::find_if(at, text.end(), in_word)) != text.end();) {
    const auto end = std::find_if_not(at, text.end(), in_word);
    const auto found = index.find(std::string_view(at, end));
    at = end;
    if (found == index.end() || found->second == self) continue;
    uses.insert(found->second);
    uses.insert(blocks[found->second].uses.begin(), blocks[found->second].uses.end());
  }
  return {uses.begin(), uses.end()};
}

struct Prelude {
  std::vector<PreludeBlock> blocks;
  Index index;

  Prelude() {
    for (const auto file : kTexts) append_file(blocks, file);
    for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
      for (const auto& name : blocks[i].names) index.emplace(name, i);
      blocks[i].uses = find_uses(blocks, index, i);
    }
  }
};

const Prelude& prelude() {
  static const auto& instance = *new const Prelude();
  return instance;
}

}  // namespace

const std::vector<PreludeBlock>& prelude_blocks() { return prelude().blocks; }

bool prelude_has(std::string_view name) { return prelude().index.contains(name); }

PreludeForms::PreludeForms(std::string_view file) : blocks_(prelude().blocks) {
  std::vector<PreludeBlock> forms;
  append_file(forms, file);
  for (auto& form : forms)
    for (auto& block : blocks_)
      if (block.names.front() == form.names.front()) block.text = form.text;
  for (int i = 0; i < static_cast<int>(blocks_.size()); ++i)
    blocks_[i].uses = find_uses(blocks_, prelude().index, i);
}

std::string prelude_for(const std::vector<std::string>& functions, const PreludeForms* forms) {
  const auto& index = prelude().index;
  const auto& blocks = forms == nullptr ? prelude().blocks : forms->blocks();
  std::set<int> needed = {0};  // the integer types
  for (const auto& name : functions) {
    const auto found = index.find(name);
    if (found == index.end())
      throw Error(ErrorCode::Internal, "codegen", "there is no function " + name + " in the prelude");
    needed.insert(found->second);
    needed.insert(blocks[found->second].uses.begin(), blocks[found->second].uses.end());
  }
  std::string text;
  for (const int i : needed) text += blocks[i].text;
  return text;
}

}  // namespace antegrad::codegen
