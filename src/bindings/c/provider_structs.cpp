// Providers by a struct of options each: oneDNN, which is built in. The others are answered for by the table.

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/providers.h"
#include "bindings/c/session_options.h"

struct OrtDnnlProviderOptions {
  tessera::c_abi::Mark<OrtDnnlProviderOptions> mark;
  tessera::ProviderOptions entries;
};

namespace tessera::c_abi {

OrtStatusPtr CreateDnnlProviderOptions(OrtDnnlProviderOptions** out) noexcept {
  return Making(out, [&] { return new OrtDnnlProviderOptions; });
}

OrtStatusPtr UpdateDnnlProviderOptions(OrtDnnlProviderOptions* dnnl_options, const char* const* provider_options_keys,
                                       const char* const* provider_options_values, size_t num_keys) noexcept {
  return Guarded([&] {
    OrtDnnlProviderOptions& own = Given(dnnl_options, "the options");
    for (auto& [key, value] : OptionsFrom(provider_options_keys, provider_options_values, num_keys))
      own.entries.insert_or_assign(key, value);
  });
}

OrtStatusPtr GetDnnlProviderOptionsAsString(const OrtDnnlProviderOptions* dnnl_options, OrtAllocator* allocator,
                                            char** ptr) noexcept {
  return Guarded([&] {
    std::string text;
    for (const auto& [key, value] : Given(dnnl_options, "the options").entries)
      text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
    Give(ptr, [&] { return CopyText(text, allocator); });
  });
}

void ReleaseDnnlProviderOptions(OrtDnnlProviderOptions* input) { Release(input); }

OrtStatusPtr SessionOptionsAppendExecutionProvider_Dnnl(OrtSessionOptions* options,
                                                        const OrtDnnlProviderOptions* dnnl_options) noexcept {
  return Guarded([&] {
    ProviderOptions entries = Given(dnnl_options, "the options").entries;
    entries.erase("use_arena");  // whether there is one is an option of the session here
    AppendProvider(Given(options, "the session options"), "dnnl", entries);
  });
}

}  // namespace tessera::c_abi
