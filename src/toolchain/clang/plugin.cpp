// libantegrad_clang.so: clang 19 as a function from C text to object bytes. Accesses no files.
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/FileManager.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "toolchain/clang/lasting_statics.h"
#include "toolchain/plugin_api.h"

namespace {

void initialize_target() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
}

/// Returns a file system whose only file is the source. The text is not copied: LLVM does not report it when
/// there is no memory for a copy.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> one_file(llvm::StringRef name, llvm::StringRef text) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFile(name, 0, llvm::MemoryBuffer::getMemBuffer(text, name));
  return files;
}

/// Thrown when LLVM cannot continue.
struct Fatal {
  std::string reason;
};

/// Whether this thread is in one of our compilations; others in the process may use the same LLVM.
thread_local bool inside = false;

/// LLVM would end the process when it runs out of memory or hits a fatal error. Exceptions can pass through
/// it, but no destructors run; so everything is left as it is, and LLVM is not used again.
void install_handlers() {
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
  llvm::install_fatal_error_handler([](void*, const char* reason, bool) {
    if (inside) throw Fatal{reason};
  });
}

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    antegrad::toolchain::leak_statics_of(reinterpret_cast<const void*>(&LLVMInitializeX86Target));
    antegrad::toolchain::leak_statics_of(reinterpret_cast<const void*>(&clang::getClangFullCPPVersion));
    install_handlers();
    initialize_target();
  });
}

/// One compilation. Destroyed only when it has completed.
struct Compilation {
  std::string text;
  llvm::raw_string_ostream diagnostics{text};
  llvm::SmallVector<char, 0> object;
  llvm::LLVMContext context;
  clang::CompilerInstance compiler;
  std::optional<clang::EmitObjAction> action;

  bool run(const antegrad_clang_request& request) {
    const llvm::ArrayRef<const char*> arguments(request.arguments, request.argument_count);
    options->ShowColors = false;
    engine = llvm::makeIntrusiveRefCnt<clang::DiagnosticsEngine>(
        llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options,
        new clang::TextDiagnosticPrinter(diagnostics, options.get()));
    if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, *engine)) return false;
    compiler.setInvocation(invocation);
    compiler.setDiagnostics(engine.get());
    compiler.setVerboseOutputStream(diagnostics);
    compiler.createFileManager(one_file(arguments.back(), {request.source, request.source_size}));
    compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(object));
    action.emplace(&context);
    return compiler.ExecuteAction(*action) && !engine->hasErrorOccurred();
  }

 private:
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options =
      llvm::makeIntrusiveRefCnt<clang::DiagnosticOptions>();
  llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine> engine;
  std::shared_ptr<clang::CompilerInvocation> invocation = std::make_shared<clang::CompilerInvocation>();
};

int compile(const antegrad_clang_request& request) {
  initialize();
  auto* compilation = new Compilation;
  const bool made = compilation->run(request);
  auto& text = compilation->text;
  if (!text.empty()) request.diagnostics(request.context, text.data(), text.size());
  if (made) request.object(request.context, compilation->object.data(), compilation->object.size());
  delete compilation;
  return made ? antegrad::toolchain::kMade : antegrad::toolchain::kRejected;
}

int ended(const antegrad_clang_request& request, llvm::StringRef why) {
  inside = false;
  request.diagnostics(request.context, why.data(), why.size());
  return antegrad::toolchain::kOutOfMemory;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int antegrad_clang_compile_v1(const antegrad_clang_request* request) {
  try {
    inside = true;
    const int made = compile(*request);
    inside = false;
    return made;
  } catch (const Fatal& fatal) {
    return ended(*request, fatal.reason);
  } catch (const std::exception& error) {
    return ended(*request, error.what());
  }
}

__attribute__((visibility("default"))) const char* antegrad_clang_version_v1() {
  return CLANG_VERSION_STRING;
}
}
