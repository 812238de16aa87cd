// libantegrad_clang.so: clang 19 as a function from C text to object bytes. Touches no files.
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/FileManager.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <exception>
#include <mutex>
#include <string>

#include "toolchain/plugin_api.h"

namespace {

void initialize_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

/// A file system with the source as its only file.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> one_file(llvm::StringRef name, llvm::StringRef text) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFile(name, 0, llvm::MemoryBuffer::getMemBufferCopy(text, name));
  return files;
}

bool emit_object(const antegrad_clang_request& request, llvm::SmallVectorImpl<char>& object,
                 llvm::raw_ostream& diagnostics) {
  const llvm::ArrayRef<const char*> arguments(request.arguments, request.argument_count);
  auto options = llvm::makeIntrusiveRefCnt<clang::DiagnosticOptions>();
  options->ShowColors = false;
  auto engine = llvm::makeIntrusiveRefCnt<clang::DiagnosticsEngine>(
      llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options,
      new clang::TextDiagnosticPrinter(diagnostics, options.get()));
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, *engine)) return false;

  clang::CompilerInstance compiler;
  compiler.setInvocation(std::move(invocation));
  compiler.setDiagnostics(engine.get());
  compiler.setVerboseOutputStream(diagnostics);
  compiler.createFileManager(one_file(arguments.back(), {request.source, request.source_size}));
  compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(object));
  llvm::LLVMContext context;
  clang::EmitObjAction action(&context);
  return compiler.ExecuteAction(action) && !engine->hasErrorOccurred();
}

int compile(const antegrad_clang_request& request) {
  initialize_target();
  llvm::SmallVector<char, 0> object;
  std::string text;
  llvm::raw_string_ostream diagnostics(text);
  const bool made = emit_object(request, object, diagnostics);
  if (!text.empty()) request.diagnostics(request.context, text.data(), text.size());
  if (made) request.object(request.context, object.data(), object.size());
  return made;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int antegrad_clang_compile_v1(const antegrad_clang_request* request) {
  try {
    return compile(*request);
  } catch (const std::exception& error) {
    const llvm::StringRef text = error.what();
    request->diagnostics(request->context, text.data(), text.size());
    return 0;
  }
}

__attribute__((visibility("default"))) const char* antegrad_clang_version_v1() {
  return CLANG_VERSION_STRING;
}
}
