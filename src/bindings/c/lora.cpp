// LoRA adapters: tensors that replace inputs with a value in the model, for the runs that name the adapter.

#include "bindings/c/lora.h"

#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/type_info.h"
#include "model/flat_buffer.h"

namespace tessera::c_abi {
namespace {

constexpr std::string_view kIdentifier = "TORT";
constexpr int kFormatVersion = 1;
// Fields of the adapter, and of each of its tensors.
enum AdapterField { kVersionField = 0, kTensorsField = 3 };
enum TensorField { kNameField = 0, kDimsField = 1, kTypeField = 2, kDataField = 3 };

Value TensorOf(const FlatTable& table) {
  const std::string_view name = table.Text(kNameField);
  // The numbers of ONNX.
  const auto type = static_cast<ElementType>(table.Number<int32_t>(kTypeField, 0));
  Require(BitWidth(type) > 0 && type != ElementType::kString, "tensor '{}' has element type {}, which no adapter holds",
          name, static_cast<int>(type));
  const std::span<const std::byte> dims = table.Vector(kDimsField, sizeof(int64_t));
  Shape shape(dims.size() / sizeof(int64_t));
  std::memcpy(shape.data(), dims.data(), dims.size());
  const std::span<const std::byte> data = table.Vector(kDataField, 1);
  const size_t needed = ByteSize(type, shape.num_elements());
  Require(data.size() == needed, "tensor '{}' of shape {} needs {} bytes, the adapter has {}", name, shape, needed,
          data.size());
  Tensor tensor(type, shape);  // once its bytes are there: a shape may ask for any number
  if (!data.empty()) std::memcpy(tensor.mutable_raw(), data.data(), data.size());
  return tensor;
}

std::unique_ptr<OrtLoraAdapter> ReadAdapter(std::span<const std::byte> bytes) {
  const FlatBuffer buffer(bytes);
  Require(buffer.HasIdentifier(kIdentifier), "this is no LoRA adapter: its file begins with another mark than '{}'",
          kIdentifier);
  const FlatTable root = buffer.root();
  const int version = root.Number<int32_t>(kVersionField, 0);
  Require(version == kFormatVersion, "the adapter's format is {}, only {} can be read", version, kFormatVersion);
  auto adapter = std::make_unique<OrtLoraAdapter>();
  const size_t count = root.NumTables(kTensorsField);
  size_t left = bytes.size();  // tables may share a vector of bytes, and so ask for any multiple of the file
  for (size_t i = 0; i < count; ++i) {
    const FlatTable tensor = root.Table(kTensorsField, i);
    const size_t size = tensor.Text(kNameField).size() + tensor.Vector(kDataField, 1).size();
    Require(size <= left, "the adapter's names and tensors overlap: together they are larger than its {} bytes",
            bytes.size());
    left -= size;
    adapter->tensors.insert_or_assign(std::string(tensor.Text(kNameField)), TensorOf(tensor));
  }
  return adapter;
}

/// What no adapter can be made of is a failure to clients, whatever is wrong with it.
std::unique_ptr<OrtLoraAdapter> AdapterOf(std::span<const std::byte> bytes) {
  try {
    return ReadAdapter(bytes);
  } catch (const Error& error) {
    throw Error(ErrorCode::kFail, error.what());
  }
}

/// A path that leads nowhere is an argument that is wrong.
MappedFile FileAt(const char* path) {
  try {
    return MapFile(path);
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidArgument, error.what());
  }
}

}  // namespace

void LayOver(const std::vector<const OrtLoraAdapter*>& adapters, const LoadedModel& model, std::span<const Value*> given) {
  for (const OrtLoraAdapter* adapter : adapters) {
    for (const auto& [name, value] : adapter->tensors) {
      const Value*& place = given[model.InputPosition(name)];
      if (place == nullptr) place = &value;
    }
  }
}

OrtStatusPtr CreateLoraAdapter(const char* adapter_file_path, OrtAllocator* /*allocator*/, OrtLoraAdapter** out) noexcept {
  return Guarded([&] {
    const MappedFile file = FileAt(&Given(adapter_file_path, "the path"));
    Give(out, [&] { return AdapterOf(file.bytes).release(); });
  });
}

OrtStatusPtr CreateLoraAdapterFromArray(const void* bytes, size_t num_bytes, OrtAllocator* /*allocator*/,
                                        OrtLoraAdapter** out) noexcept {
  return Guarded([&] {
    const auto* first = &Given(static_cast<const std::byte*>(bytes), "the bytes");
    Give(out, [&] { return AdapterOf({first, num_bytes}).release(); });
  });
}

void ReleaseLoraAdapter(OrtLoraAdapter* input) { Release(input); }

}  // namespace tessera::c_abi
