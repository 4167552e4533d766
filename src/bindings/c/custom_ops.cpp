// Operators of clients': domains of them, and libraries that bring such.

#include "bindings/c/custom_ops.h"

#include <dlfcn.h>

#include <memory>

#include "bindings/c/entry.h"
#include "bindings/c/session_options.h"
#include "plugin/operators/operator_provider.h"

extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera::c_abi {
namespace {

constexpr const char* kRegisterFunction = "RegisterCustomOps";

struct CloseLibrary {
  void operator()(void* handle) const noexcept { dlclose(handle); }
};
using OwnedLibrary = std::unique_ptr<void, CloseLibrary>;

OwnedLibrary Open(const std::string& file) {
  OwnedLibrary library(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) Fail(ErrorCode::kFail, "library of operators '{}' cannot be loaded: {}", file, TextOf(dlerror()));
  return library;
}

/// What a function adds before it fails is not there afterwards.
void Register(OrtSessionOptions& options, void* library, const char* function, std::string_view from) {
  const auto add = reinterpret_cast<RegisterCustomOpsFn>(dlsym(library, function));
  if (add == nullptr) Fail(ErrorCode::kFail, "{} has no function {}, which adds its operators", from, function);
  const size_t before = options.custom_op_domains.size();
  try {
    ThrowIfFailed(add(&options, TesseraGetOrtApiBase()));
  } catch (...) {
    options.custom_op_domains.resize(before);
    throw;
  }
}

void RegisterLibrary(OrtSessionOptions& options, const std::string& file) {
  OwnedLibrary library = Open(file);
  Register(options, library.get(), kRegisterFunction, file);
  options.custom_op_libraries.emplace_back(std::move(library));
}

}  // namespace

void TakeCustomOps(const OrtSessionOptions& given, SessionOptions& core) {
  if (given.custom_op_domains.empty()) return;
  core.providers.push_back(plugin::RequestFor(given.custom_op_domains, given.custom_op_libraries));
}

OrtStatusPtr CreateCustomOpDomain(const char* domain, OrtCustomOpDomain** out) noexcept {
  return Making(out, [&] { return new OrtCustomOpDomain{{}, &Given(domain, "the domain"), {}}; });
}

void ReleaseCustomOpDomain(OrtCustomOpDomain* input) { Release(input); }

OrtStatusPtr CustomOpDomain_Add(OrtCustomOpDomain* custom_op_domain, const OrtCustomOp* op) noexcept {
  return Guarded([&] { Given(custom_op_domain, "the domain").operators.push_back(&Given(op, "the operator")); });
}

OrtStatusPtr AddCustomOpDomain(OrtSessionOptions* options, OrtCustomOpDomain* custom_op_domain) noexcept {
  return Guarded(
      [&] { Given(options, "the session options").custom_op_domains.push_back(&Given(custom_op_domain, "the domain")); });
}

// The client closes the library, when no session uses it any more.
OrtStatusPtr RegisterCustomOpsLibrary(OrtSessionOptions* options, const char* library_path,
                                      void** library_handle) noexcept {
  return Guarded([&] {
    OrtSessionOptions& given = Given(options, "the session options");
    const std::string file = &Given(library_path, "the path");
    void*& handle = Given(library_handle, "the handle");
    handle = nullptr;
    OwnedLibrary library = Open(file);
    Register(given, library.get(), kRegisterFunction, file);
    handle = library.release();
  });
}

OrtStatusPtr RegisterCustomOpsLibrary_V2(OrtSessionOptions* options, const ORTCHAR_T* library_name) noexcept {
  return Guarded([&] { RegisterLibrary(Given(options, "the session options"), &Given(library_name, "the path")); });
}

OrtStatusPtr RegisterCustomOpsUsingFunction(OrtSessionOptions* options, const char* registration_func_name) noexcept {
  return Guarded([&] {
    Register(Given(options, "the session options"), RTLD_DEFAULT, &Given(registration_func_name, "the function's name"),
             "the program");
  });
}

}  // namespace tessera::c_abi

namespace tessera {

ProviderRequest OperatorLibraries(std::span<const std::filesystem::path> files) {
  OrtSessionOptions options;
  for (const std::filesystem::path& file : files) c_abi::RegisterLibrary(options, file.string());
  return plugin::RequestFor(options.custom_op_domains, options.custom_op_libraries);
}

}  // namespace tessera
