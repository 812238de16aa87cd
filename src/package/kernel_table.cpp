#include "package/collect.h"
#include "toolchain/toolchain.h"

namespace antegrad::packaging {

std::vector<cache::Digest> KernelTable::add(const compiler::Lowered& code, const std::string& isa) {
  std::vector<cache::Digest> digests;
  for (size_t k = 0; k < code.kernels().size(); ++k) {
    auto text = compiler::kernel_text(code.program().kernels[k]);
    digests.push_back(cache::sha256(text));
    auto& entry = kernels_[digests.back()];
    entry.text = std::move(text);
    entry.objects[isa] = code.kernels()[k].object;
    isas_.insert(isa);
  }
  return digests;
}

void KernelTable::complete(const std::set<std::string>& isas) {
  for (const auto& isa : isas) {
    std::vector<std::string> sources;
    std::vector<Entry*> missing;
    for (auto& [digest, entry] : kernels_)
      if (entry.objects.count(isa) == 0) {
        sources.push_back(entry.text);
        missing.push_back(&entry);
      }
    if (missing.empty()) continue;
    const auto objects =
        toolchain::compile_all(*toolchain::default_toolchain(), sources, *toolchain::isa_from_name(isa));
    for (size_t i = 0; i < missing.size(); ++i)
      missing[i]->objects[isa] = std::make_shared<const std::string>(cache::as_bytes(objects[i].bytes));
    isas_.insert(isa);
  }
}

void KernelTable::add_to(std::map<std::string, RecordToWrite>& records) const {
  for (const auto& [digest, entry] : kernels_)
    for (const auto& [isa, object] : entry.objects) records[kernel_record(isa, digest)].bytes = *object;
}

}  // namespace antegrad::packaging
