// The tables of functions. Each .inc file lists a table's entries in their order: those with a function here, those that
// follow, and those of providers that are not in this build.

#include "bindings/c/tables.h"

#include "bindings/c/advice.h"
#include "bindings/c/refusal.h"

namespace tessera::c_abi {

OrtStatusPtr Refuse(const Refusal& refusal) noexcept {
  return Guarded([&] {
    const auto code = static_cast<ErrorCode>(refusal.code);
    if (code == ErrorCode::kNotImplemented) Fail(code, "{} is not implemented: {}", refusal.entry, refusal.advice);
    Fail(code,
         "{}: the execution provider {} is not in this build; leave it out, or choose CPU, dnnl or opencl by "
         "SessionOptionsAppendExecutionProvider",
         refusal.entry, refusal.advice);
  });
}

namespace {

// First what each refusal says, then the tables.
#define ENTRY(name)
#define LATER(name, advice) constexpr Refusal k##name##Refusal{ORT_NOT_IMPLEMENTED, #name, advice};
#define ABSENT(name, provider) constexpr Refusal k##name##Refusal{ORT_FAIL, #name, provider};
#include "bindings/c/compile_api.inc"
#include "bindings/c/ep_api.inc"
#include "bindings/c/interop_api.inc"
#include "bindings/c/model_editor_api.inc"
#include "bindings/c/model_package_api.inc"
#include "bindings/c/ort_api.inc"
#undef ENTRY
#undef LATER
#undef ABSENT

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
#define ENTRY(name) .name = name,
#define LATER(name, advice) .name = Refused<k##name##Refusal, decltype(TABLE::name)>::Answer,
#define ABSENT(name, provider) LATER(name, provider)

#define TABLE OrtApi
constexpr OrtApi kOrtApi = {
#include "bindings/c/ort_api.inc"
};
#undef TABLE

#define TABLE OrtModelEditorApi
constexpr OrtModelEditorApi kModelEditorApi = {
#include "bindings/c/model_editor_api.inc"
};
#undef TABLE

#define TABLE OrtCompileApi
constexpr OrtCompileApi kCompileApi = {
#include "bindings/c/compile_api.inc"
};
#undef TABLE

#define TABLE OrtEpApi
constexpr OrtEpApi kEpApi = {
#include "bindings/c/ep_api.inc"
};
#undef TABLE

#define TABLE OrtInteropApi
constexpr OrtInteropApi kInteropApi = {
#include "bindings/c/interop_api.inc"
};
#undef TABLE

#define TABLE OrtModelPackageApi
constexpr OrtModelPackageApi kModelPackageApi = {
#include "bindings/c/model_package_api.inc"
};
#undef TABLE

#undef ENTRY
#undef LATER
#undef ABSENT
#pragma GCC diagnostic pop

}  // namespace tessera::c_abi
