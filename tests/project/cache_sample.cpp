// Makes a small cache for cache_cli_test.sh and prints one line per entry: a word and the address.
//   cache_sample DIRECTORY [KEY_FILE [TEXT]]      TEXT changes the keys
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cache/directory/local_store.h"
#include "cache/format/label.h"
#include "toolchain/isa.h"

namespace antegrad::cache {
namespace {

Key key_of(const std::string& graph, const std::string& options, const std::string& isa) {
  Key key;
  key.add_text("graph", graph).add_text("options", options).add_text("isa", isa);
  key.add_bytes("constants", std::string("\0\1\2", 3));
  return key;
}

std::shared_ptr<DirectoryStore> open_store(const std::string& directory, const std::string& key_file) {
  LocalSettings settings;
  settings.directory = directory;
  const auto files = std::make_shared<FileSystem>();
  ReadSecret read;
  if (!key_file.empty()) read = read_key_file(*files, key_file);
  auto opened = open_local_store(settings, read.secret, files);
  if (!opened.store) throw std::runtime_error(opened.reason + read.reason);
  return opened.store;
}

void put(DirectoryStore& store, const std::string& word, const Label& label, uint64_t variant) {
  auto entry = labelled(label);
  entry.sections.push_back({"object", std::string(3000, 'x')});
  const Address address{label.key.digest(), variant};
  const auto saved = store.put(address, entry);
  if (!saved) throw std::runtime_error(saved.reason);
  fmt::print("{} {}\n", word, address.to_text());
}

void fill(DirectoryStore& store, const std::string& text) {
  const std::string isa(toolchain::isa_name(toolchain::detect_isa()));
  const std::string graph = text + "graph @step {\n  %0 = mul(%1, 2)\n}\n";
  put(store, "step1", {"function", "step", key_of(graph, "matmul=exact", isa), {{"compile_s", "1.25"}}}, 1);
  put(store, "step2", {"function", "step", key_of(graph, "matmul=fast", isa), {{"compile_s", "1.31"}}}, 1);
  put(store, "twice", {"function", "step", key_of(graph, "matmul=fast", isa), {{"compile_s", "0.9"}}}, 2);
  put(store, "loss", {"function", "loss", key_of(text + "graph @loss {\n}\n", "matmul=fast", isa), {}}, 1);
  put(store, "code", {"code", "", key_of(text + "void kernel() {}", "", "vax-780"), {{"bytes", "3000"}}}, 0);
  put(store, "evil", {"fact", "a\033[2Jb\xff", key_of(text, "", isa), {}}, 0);
}

}  // namespace
}  // namespace antegrad::cache

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    antegrad::cache::fill(*antegrad::cache::open_store(argv[1], argc > 2 ? argv[2] : ""),
                          argc > 3 ? argv[3] : "");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 1;
}
