// Files of programs and tensors are not trusted: whatever they hold, reading them ends in a result or in an
// Error. ANTEGRAD_FUZZ_FILES=100000 reads that many damaged files instead of some.
#include <ATen/Functions.h>
#include <antegrad/error.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "program/program_data.h"
#include "program/tensor_file.h"
#include "support/temporary.h"

namespace antegrad::test {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Changes a few bytes, numbers or pieces of a file.
class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  std::string of(std::string bytes) {
    const auto count = 1 + below(4);
    for (size_t i = 0; i < count && !bytes.empty(); ++i) once(bytes);
    return bytes;
  }

 private:
  size_t below(size_t end) { return random_() % end; }
  void once(std::string& bytes) {
    const auto at = below(bytes.size());
    switch (below(8)) {
      case 0:
        bytes[at] = static_cast<char>(random_());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:  // a digit of JSON
      case 3: {
        const auto digit = bytes.find_first_of("0123456789", at);
        if (digit != bytes.npos) bytes[digit] = static_cast<char>('0' + below(10));
        break;
      }
      case 4: {  // punctuation of JSON
        const auto sign = bytes.find_first_of("[]{}\",:", at);
        if (sign != bytes.npos) bytes[sign] = "[]{}\",: "[below(8)];
        break;
      }
      case 5: {  // a piece from somewhere else
        const auto length = std::min<size_t>(1 + below(40), bytes.size());
        bytes.replace(std::min(at, bytes.size() - length), length,
                      bytes.substr(below(bytes.size() - length + 1), length));
        break;
      }
      case 6: {  // sizes and offsets
        const auto length = std::min<size_t>(8, bytes.size() - at);
        for (size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(below(2) == 0 ? 0xFF : 0);
        break;
      }
      default:
        bytes.resize(at);
    }
  }

  std::mt19937_64 random_;
};

size_t files_to_read() {
  const char* count = std::getenv("ANTEGRAD_FUZZ_FILES");
  return count == nullptr ? 2000 : std::strtoull(count, nullptr, 10);
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

template <class Read>
void expect_errors_only(const std::vector<std::string>& files, size_t count, const Read& read) {
  const auto before = peak_kilobytes();
  size_t refused = 0;
  for (size_t i = 0; i < count; ++i) {
    Damage damage(i);
    const auto bytes = damage.of(files[i % files.size()]);
    try {
      read(bytes);
    } catch (const Error&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "file " << i << ": " << error.what();
    }
  }
  EXPECT_GT(refused, count / 4);
  EXPECT_LT(peak_kilobytes() - before, 500'000);
}

TEST(ProgramFuzz, DamagedProgramsAreReadOrRefused) {
  std::vector<std::string> files;
  for (const char* name : {"mlp", "cond", "kw", "dynauto", "scan", "pair", "mutation", "autocast"})
    files.push_back(bytes_of(std::string(ANTEGRAD_SOURCE_DIR) + "/tests/data/pt2/" + name + ".pt2"));
  expect_errors_only(files, files_to_read(), [](const std::string& bytes) {
    const program::ZipFile file(program::memory_source("memory", bytes), program::Checksums::Ignore);
    const auto models = program::models_in(file);
    program::read_program(file, models.empty() ? "" : models[0]);
  });
}

TEST(ProgramFuzz, ChecksumsFindDamagedWeights) {
  auto bytes = bytes_of(std::string(ANTEGRAD_SOURCE_DIR) + "/tests/data/pt2/mlp.pt2");
  const program::ZipFile whole(program::memory_source("memory", bytes));
  bytes[whole.records().at("data/weights/weight_0").offset] ^= 1;
  EXPECT_THROW(program::read_program(program::ZipFile(program::memory_source("memory", bytes)), ""), Error);
}

TEST(ProgramFuzz, DamagedFilesOfTensorsAreReadOrRefused) {
  const auto path = test::temporary_path("fuzzed");
  const program::TensorsByName tensors = {{"a", at::ones({3, 4})}, {"b", at::arange(5)}};
  program::write_safetensors(path, tensors);
  const std::vector<std::string> safetensors = {bytes_of(path)};
  expect_errors_only(safetensors, files_to_read() / 4, [](const std::string& bytes) {
    program::read_safetensors(program::memory_source("memory", bytes));
  });
}

}  // namespace
}  // namespace antegrad::test
