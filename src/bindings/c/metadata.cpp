// What a model says of itself.

#include <limits>
#include <string>
#include <vector>

#include "bindings/c/allocator.h"
#include "bindings/c/editor/unfinished_session.h"
#include "bindings/c/entry.h"
#include "bindings/c/session.h"
#include "session/session_state.h"

namespace tessera::c_abi {
namespace {

const ModelMetadata& Metadata(const OrtModelMetadata* metadata) { return Given(metadata, "the metadata").metadata; }

}  // namespace

OrtStatusPtr SessionGetModelMetadata(const OrtSession* session, OrtModelMetadata** out) noexcept {
  return Guarded([&] {
    const OrtSession& given = Given(session, "the session");
    Give(out, [&] {
      if (given.unfinished != nullptr) {
        const EditedModel& model = given.unfinished->model;
        return new OrtModelMetadata{{}, model.metadata(), model.has_version()};
      }
      const Model& model = *given.loaded().state()->model;
      return new OrtModelMetadata{{}, model.metadata, model.has_version};
    });
  });
}

void ReleaseModelMetadata(OrtModelMetadata* input) { Release(input); }

OrtStatusPtr ModelMetadataGetProducerName(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                          char** value) noexcept {
  return Making(value, [&] { return CopyText(Metadata(model_metadata).producer_name, allocator); });
}

OrtStatusPtr ModelMetadataGetGraphName(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                       char** value) noexcept {
  return Making(value, [&] { return CopyText(Metadata(model_metadata).graph_name, allocator); });
}

OrtStatusPtr ModelMetadataGetGraphDescription(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                              char** value) noexcept {
  return Making(value, [&] { return CopyText(Metadata(model_metadata).graph_description, allocator); });
}

OrtStatusPtr ModelMetadataGetDomain(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                    char** value) noexcept {
  return Making(value, [&] { return CopyText(Metadata(model_metadata).domain, allocator); });
}

OrtStatusPtr ModelMetadataGetDescription(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                         char** value) noexcept {
  return Making(value, [&] { return CopyText(Metadata(model_metadata).description, allocator); });
}

OrtStatusPtr ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                  const char* key, char** value) noexcept {
  return Guarded([&] {
    const auto& custom = Metadata(model_metadata).custom;
    const auto found = custom.find(&Given(key, "the key"));
    Give(value, [&] { return found == custom.end() ? nullptr : CopyText(found->second, allocator); });
  });
}

OrtStatusPtr ModelMetadataGetCustomMetadataMapKeys(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                   char*** keys, int64_t* num_keys) noexcept {
  return Guarded([&] {
    std::vector<std::string> names;
    for (const auto& [key, text] : Metadata(model_metadata).custom) names.push_back(key);
    Given(keys, "out") = nullptr;
    Given(num_keys, "the number") = 0;
    *keys = CopyTexts(names, allocator);
    *num_keys = static_cast<int64_t>(names.size());
  });
}

OrtStatusPtr ModelMetadataGetVersion(const OrtModelMetadata* model_metadata, int64_t* value) noexcept {
  return Guarded([&] {
    const ModelMetadata& metadata = Metadata(model_metadata);
    Given(value, "out") = model_metadata->has_version ? metadata.version : std::numeric_limits<int64_t>::max();
  });
}

}  // namespace tessera::c_abi
