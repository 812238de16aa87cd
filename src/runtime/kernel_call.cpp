#include "runtime/kernel_call.h"

#include <atomic>

#include "runtime/parallel.h"

namespace antegrad::runtime {
namespace {

class KernelCall final : public Instruction {
 public:
  KernelCall(KernelCode code, std::vector<Operand> operands, SymbolValues symbols, int64_t units,
             int64_t grain)
      : code_(std::move(code)),
        operands_(std::move(operands)),
        symbols_(std::move(symbols)),
        units_(units),
        grain_(grain) {}

  void run(Registers& registers) const override {
    c10::SmallVector<void*, 16> pointers;
    for (const auto& operand : operands_)
      pointers.push_back(operand.slot < 0 ? registers.arena + operand.offset
                                          : memory_of(registers[operand.slot]));
    if (units_ <= grain_) {
      if (call(pointers.data(), 0, units_) != 0) throw IndexOutOfRange{};
      return;
    }
    std::atomic<bool> failed = false;
    parallel_for(units_, grain_, [&](int64_t begin, int64_t end) {
      if (call(pointers.data(), begin, end) != 0) failed.store(true, std::memory_order_relaxed);
    });
    if (failed.load()) throw IndexOutOfRange{};
  }

 private:
  static void* memory_of(const at::Tensor& tensor) {
    return const_cast<void*>(tensor.const_data_ptr());  // written only where the executable allocated it
  }
  int64_t call(void* const* pointers, int64_t begin, int64_t end) const {
    return code_.function(pointers, symbols_->data(), begin, end);
  }

  KernelCode code_;
  std::vector<Operand> operands_;
  SymbolValues symbols_;
  int64_t units_;
  int64_t grain_;
};

}  // namespace

std::unique_ptr<Instruction> make_kernel_call(const KernelCode& code, std::vector<Operand> operands,
                                              SymbolValues symbols, int64_t units, int64_t grain) {
  return std::make_unique<KernelCall>(code, std::move(operands), std::move(symbols), units, grain);
}

}  // namespace antegrad::runtime
