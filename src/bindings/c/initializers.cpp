// Weights that the client gives in place of the model's, or of the files that the model names.

#include "bindings/c/entry.h"
#include "bindings/c/session_options.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

/// A name once only, so that nobody waits for a weight that another one took the place of.
template <class Map, class T>
void Add(Map& map, const char* name, T value, std::string_view what) {
  const std::string_view key = &Given(name, "the name");
  Require(map.emplace(key, std::move(value)).second, "{} '{}' was given before; give it once", what, key);
}

}  // namespace

OrtStatusPtr AddInitializer(OrtSessionOptions* options, const char* name, const OrtValue* val) noexcept {
  return Guarded([&] {
    const Tensor& tensor = TensorIn(val);
    Require(tensor.owner() == nullptr,
            "the tensor for '{}' has memory of its own; give one over memory that outlives the session "
            "(CreateTensorWithDataAsOrtValue)",
            &Given(name, "the name"));
    Add(Given(options, "the session options").initializers, name, tensor, "initializer");
  });
}

OrtStatusPtr AddExternalInitializers(OrtSessionOptions* options, const char* const* initializer_names,
                                     const OrtValue* const* initializers, size_t num_initializers) noexcept {
  return Guarded([&] {
    OrtSessionOptions& given = Given(options, "the session options");
    for (size_t i = 0; i < num_initializers; ++i) {
      Add(given.external_initializers, (&Given(initializer_names, "the names"))[i],
          TensorIn((&Given(initializers, "the initializers"))[i]), "external initializer");
    }
  });
}

OrtStatusPtr AddExternalInitializersFromFilesInMemory(OrtSessionOptions* options,
                                                      const char* const* external_initializer_file_names,
                                                      char* const* external_initializer_file_buffer_array,
                                                      const size_t* external_initializer_file_lengths,
                                                      size_t num_external_initializer_files) noexcept {
  return Guarded([&] {
    OrtSessionOptions& given = Given(options, "the session options");
    for (size_t i = 0; i < num_external_initializer_files; ++i) {
      const char* bytes = &Given((&Given(external_initializer_file_buffer_array, "the files"))[i], "a file");
      const size_t size = (&Given(external_initializer_file_lengths, "the files' sizes"))[i];
      Require(size > 0, "file {} is empty", i);
      Add(given.files, (&Given(external_initializer_file_names, "the files' names"))[i], std::pair(bytes, size), "file");
    }
  });
}

void TakeInitializers(const OrtSessionOptions& given, SessionOptions& core) {
  core.initializers = given.initializers;
  for (const auto& [name, tensor] : given.external_initializers) core.initializers.insert_or_assign(name, tensor);
  for (const auto& [name, file] : given.files)
    core.external_files.emplace(name, std::as_bytes(std::span(file.first, file.second)));
  // Those that sessions share are taken by the models that have them; external ones are the model's.
  if (!given.initializers.empty()) core.config["session.ignore_unknown_initializers"] = "1";
}

}  // namespace tessera::c_abi
