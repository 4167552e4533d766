// Where initializers lie in files beside the model's.

#include "bindings/c/views/external_initializer.h"

#include <optional>

#include "base/mapped_file.h"
#include "bindings/c/entry.h"
#include "bindings/c/views/graph_view.h"

namespace tessera::c_abi {
namespace {

namespace fs = std::filesystem;

/// A file that the model names, as it names it: from its folder. Elsewhere, where links led, the whole path.
std::string NameBesideModel(const fs::path& file, const fs::path& model) {
  const fs::path relative = file.lexically_relative(model.parent_path());
  return relative.empty() || *relative.begin() == ".." ? file.string() : relative.string();
}

}  // namespace

std::unique_ptr<OrtExternalInitializerInfo> FindExternal(const Tensor& tensor, const fs::path& model) {
  const std::optional<FilePlace> place = FindInFiles(tensor.unaligned_raw(), tensor.byte_size());
  if (!place) return nullptr;
  std::error_code error;
  const fs::path real = fs::canonical(model, error);
  if (!error && real == place->file) return nullptr;
  const fs::path folder = fs::canonical(model.parent_path().empty() ? "." : model.parent_path(), error);
  return std::make_unique<OrtExternalInitializerInfo>(OrtExternalInitializerInfo{
      {}, NameBesideModel(place->file, folder / "model"), static_cast<int64_t>(place->offset), tensor.byte_size()});
}

OrtStatusPtr ValueInfo_GetExternalInitializerInfo(const OrtValueInfo* value_info,
                                                  OrtExternalInitializerInfo** info) noexcept {
  return Guarded([&] {
    const OrtValueInfo& value = ReadableValue(value_info);
    Given(info, "out") = nullptr;
    const Tensor* tensor = value.initializer.tensor_if();
    if (tensor == nullptr || value.view == nullptr) return;
    *info = FindExternal(*tensor, value.view->facts->path).release();
  });
}

OrtStatusPtr CreateExternalInitializerInfo(const ORTCHAR_T* filepath, int64_t file_offset, size_t byte_size,
                                           OrtExternalInitializerInfo** out) noexcept {
  return Guarded([&] {
    OrtExternalInitializerInfo*& made = Given(out, "out");
    made = new OrtExternalInitializerInfo{{}, &Given(filepath, "the file's path"), file_offset, byte_size};
  });
}

void ReleaseExternalInitializerInfo(OrtExternalInitializerInfo* input) { Release(input); }

const ORTCHAR_T* ExternalInitializerInfo_GetFilePath(const OrtExternalInitializerInfo* info) noexcept {
  return info == nullptr ? nullptr : info->file.c_str();
}

int64_t ExternalInitializerInfo_GetFileOffset(const OrtExternalInitializerInfo* info) noexcept {
  return info == nullptr ? 0 : info->offset;
}

size_t ExternalInitializerInfo_GetByteSize(const OrtExternalInitializerInfo* info) noexcept {
  return info == nullptr ? 0 : info->bytes;
}

}  // namespace tessera::c_abi
