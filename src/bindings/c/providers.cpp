// Execution providers by name.

#include "bindings/c/providers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/ascii.h"
#include "bindings/c/entry.h"
#include "bindings/c/session_options.h"
#include "tessera/providers/names.h"

namespace tessera::c_abi {
namespace {

/// Providers of ONNX Runtime's list that this build has not. What their names are looked up by has the short one, too.
constexpr std::string_view kNotBuiltIn[] = {
    "ACL",     "ArmNN",         "Azure",    "CANN",  "CoreML",  "DML",      "JS",   "MIGraphX",
    "NNAPI",   "NvTensorRtRtx", "OpenVINO", "QNN",   "RKNPU",   "ROCM",     "SNPE", "Tvm",
    "VitisAI", "VSINPU",        "WebGPU",   "WEBNN", "XNNPACK", "TensorRT", "CUDA",
};
/// Those that ONNX Runtime answers for as for a name that it does not know, as they have an entry of their own.
constexpr std::string_view kByEntryOnly[] = {"CUDA", "TensorRT", "ROCM", "CANN"};

struct BuiltIn {
  std::string_view full, brief;
};
constexpr BuiltIn kBuiltIn[] = {{kCpuProvider, "CPU"}, {kOnednnProvider, "dnnl"}, {kOpenclProvider, "opencl"}};

bool SameName(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return AsciiLower(x) == AsciiLower(y); });
}

bool Names(std::string_view given, std::string_view brief) {
  constexpr std::string_view kSuffix = "ExecutionProvider";
  if (SameName(given, brief)) return true;
  return given.ends_with(kSuffix) && SameName(given.substr(0, given.size() - kSuffix.size()), brief);
}

std::string_view BuiltInNamed(std::string_view name) {
  for (const BuiltIn& known : kBuiltIn) {
    if (Names(name, known.brief)) return known.full;
  }
  return {};
}

/// What clients of the C ABI know: Java's binding ends at a name that ONNX Runtime does not have.
bool IsInVocabulary(std::string_view name) { return name != kOpenclProvider; }

}  // namespace

void AppendProvider(OrtSessionOptions& options, std::string_view name, const ProviderOptions& given) {
  const std::string_view full = BuiltInNamed(name);
  if (full.empty()) {
    for (const std::string_view brief : kNotBuiltIn) {
      if (!Names(name, brief) || std::ranges::find(kByEntryOnly, brief) != std::end(kByEntryOnly)) continue;
      Fail(ErrorCode::kInvalidArgument,
           "{} execution provider is not supported in this build; leave it out, or choose one of those that are here: {}",
           name, "CPU, dnnl, opencl");
    }
    Fail(ErrorCode::kInvalidArgument, "Unknown provider name '{}'; those that are here: {}", name, "CPU, dnnl, opencl");
  }
  for (const auto& [key, value] : given) {
    options.config.insert_or_assign(fmt::format("ep.{}.{}", AsciiLower(full), key), value);
  }
  if (full == kBuiltIn[0].full) return;  // it is always there, last
  if (options.first_provider.empty()) options.first_provider = full;
  auto& providers = options.core.providers;
  if (std::ranges::any_of(providers, [&](const ProviderRequest& request) { return request.name == full; })) return;
  providers.push_back({std::string(full), given});
}

ProviderOptions OptionsFrom(const char* const* keys, const char* const* values, size_t count) {
  ProviderOptions options;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = &Given((&Given(keys, "the keys"))[i], "a key");
    Require(!key.empty(), "key {} is empty", i);
    options.insert_or_assign(std::string(key), &Given((&Given(values, "the values"))[i], "a value"));
  }
  return options;
}

OrtStatusPtr SessionOptionsAppendExecutionProvider(OrtSessionOptions* options, const char* provider_name,
                                                   const char* const* provider_options_keys,
                                                   const char* const* provider_options_values, size_t num_keys) noexcept {
  return Guarded([&] {
    AppendProvider(Given(options, "the session options"), &Given(provider_name, "the provider's name"),
                   OptionsFrom(provider_options_keys, provider_options_values, num_keys));
  });
}

OrtStatusPtr GetAvailableProviders(char*** out_ptr, int* provider_length) noexcept {
  return Guarded([&] {
    std::vector<std::string> names = available_providers();
    std::erase_if(names, [](const std::string& name) { return !IsInVocabulary(name); });
    Given(out_ptr, "out");
    Given(provider_length, "the number");
    // One block: the pointers, then the texts.
    size_t size = names.size() * sizeof(char*);
    for (const std::string& name : names) size += name.size() + 1;
    auto** list = static_cast<char**>(std::malloc(size));
    if (list == nullptr) throw std::bad_alloc();
    char* text = reinterpret_cast<char*>(list + names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      list[i] = text;
      std::memcpy(text, names[i].c_str(), names[i].size() + 1);
      text += names[i].size() + 1;
    }
    *out_ptr = list;
    *provider_length = static_cast<int>(names.size());
  });
}

OrtStatusPtr ReleaseAvailableProviders(char** ptr, int /*providers_length*/) noexcept {
  std::free(ptr);
  return nullptr;
}

OrtStatusPtr GetExecutionProviderApi(const char* provider_name, uint32_t /*version*/, const void** provider_api) noexcept {
  return Guarded([&] {
    const std::string_view name = &Given(provider_name, "the provider's name");
    Given(provider_api, "out") = nullptr;
    Fail(ErrorCode::kInvalidArgument, "provider '{}' has no functions of its own in this build", name);
  });
}

}  // namespace tessera::c_abi
