// What a model that a provider compiled says about where it can run.

#include "bindings/c/compatibility.h"

#include <string>

#include "base/mapped_file.h"
#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "model/model.h"
#include "session/compiled_model.h"

namespace tessera::c_abi {
namespace {

/// The provider's entry of the metadata; null where it has none, as in a model that nothing was compiled of.
char* InfoIn(std::span<const std::byte> bytes, std::string_view provider, OrtAllocator* allocator) {
  ModelMetadata metadata;
  try {
    if (!bytes.empty()) metadata = ReadMetadata(bytes);
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidGraph, error.what());
  }
  const auto found = metadata.custom.find(CompatibilityKey(provider));
  return found == metadata.custom.end() ? nullptr : CopyText(found->second, allocator);
}

std::string_view ProviderNamed(const char* name) {
  const std::string_view given = &Given(name, "the provider's name");
  Require(!given.empty(), "the provider's name is empty");
  return given;
}

}  // namespace

OrtStatus* AskCompatibility(OrtEpFactory* factory, std::span<const OrtHardwareDevice* const> hardware, const char* info,
                            OrtCompiledModelCompatibility& answer) {
  constexpr uint32_t kFirstVersion = 23;
  answer = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  if (factory == nullptr || factory->ort_version_supported < kFirstVersion ||
      factory->ValidateCompiledModelCompatibilityInfo == nullptr)
    return nullptr;
  return factory->ValidateCompiledModelCompatibilityInfo(factory, hardware.data(), hardware.size(), info, &answer);
}

OrtStatusPtr GetCompatibilityInfoFromModel(const ORTCHAR_T* model_path, const char* ep_type, OrtAllocator* allocator,
                                           char** compatibility_info) noexcept {
  return Guarded([&] {
    const char* path = &Given(model_path, "the path");
    const std::string_view provider = ProviderNamed(ep_type);
    Given(allocator, "the allocator");
    Give(compatibility_info, [&] { return InfoIn(MapFile(path).bytes, provider, allocator); });
  });
}

OrtStatusPtr GetCompatibilityInfoFromModelBytes(const void* model_data, size_t model_data_length, const char* ep_type,
                                                OrtAllocator* allocator, char** compatibility_info) noexcept {
  return Guarded([&] {
    const auto* bytes = &Given(static_cast<const std::byte*>(model_data), "the model");
    Require(model_data_length > 0, "the model is empty; give its bytes");
    const std::string_view provider = ProviderNamed(ep_type);
    Given(allocator, "the allocator");
    Give(compatibility_info, [&] { return InfoIn({bytes, model_data_length}, provider, allocator); });
  });
}

}  // namespace tessera::c_abi
