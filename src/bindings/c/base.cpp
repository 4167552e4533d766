// The way in, and what stands beside the handles.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "bindings/c/entry.h"
#include "bindings/c/tables.h"
#include "bindings/c/type_info.h"
#include "bindings/c/value.h"
#include "tessera/export.h"
#include "tessera/session.h"

namespace tessera::c_abi {
namespace {

constexpr const char* kVersion = "1.31.1";

const OrtApi* GetApi(uint32_t version) noexcept {
  if (version >= 1 && version <= ORT_API_VERSION) return &kOrtApi;
  std::fprintf(stderr, "version %u of the API is asked for, this library has 1 to %d\n", version, ORT_API_VERSION);
  return nullptr;
}

const char* GetVersionString() noexcept { return kVersion; }

constexpr OrtApiBase kBase{GetApi, GetVersionString};

}  // namespace

const char* GetBuildInfoString() {
  static const std::string text = fmt::format("Tessera {}, with the C ABI of ONNX Runtime {}", version(), kVersion);
  return text.c_str();
}

// Inference alone: a null table says so.
const OrtTrainingApi* GetTrainingApi(uint32_t /*version*/) noexcept { return nullptr; }
const OrtModelEditorApi* GetModelEditorApi() { return &kModelEditorApi; }
const OrtCompileApi* GetCompileApi() { return &kCompileApi; }
const OrtEpApi* GetEpApi() { return &kEpApi; }
const OrtInteropApi* GetInteropApi() { return &kInteropApi; }
const OrtModelPackageApi* GetModelPackageApi() noexcept { return &kModelPackageApi; }
OrtExperimentalFnPtr GetExperimentalFunction(const char* /*name*/) noexcept { return nullptr; }

}  // namespace tessera::c_abi

/// What libonnxruntime.so, the file that clients open, takes its functions from.
extern "C" TESSERA_API const OrtApiBase* TesseraGetOrtApiBase() noexcept { return &tessera::c_abi::kBase; }
