// Tensors.

#include <algorithm>

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "bindings/c/type_info.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

/// A tensor that looks at `size` bytes of the client's.
Tensor ViewOf(const MemoryInfo& memory, void* data, size_t size, const int64_t* dims, size_t rank, ElementType type) {
  Require(type != ElementType::kString, "a tensor of strings cannot look at memory; use CreateTensorAsOrtValue");
  Require(dims != nullptr || rank == 0, "the shape is null; give its {} dimensions", rank);
  // It is the tensor that looks at the dimensions, once.
  Tensor view = Tensor::View(type, Shape(std::span(dims, rank)), data, memory);
  if (size < view.byte_size()) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument,
         "the memory is too small for {} elements of shape {}: {} bytes are needed, {} are given", ElementTypeName(type),
         view.shape(), view.byte_size(), size);
  }
  return view;
}

}  // namespace

const Tensor& TensorIn(const OrtValue* value) { return Given(value, "the value").tensor(); }
Tensor& TensorIn(OrtValue* value) { return Given(value, "the value").tensor(); }

OrtStatusPtr CreateTensorAsOrtValue(OrtAllocator* allocator, const int64_t* shape, size_t shape_len,
                                    ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return Guarded([&] {
    OrtAllocator& memory = Given(allocator, "the allocator");
    Given(out, "out");
    *out = std::make_unique<OrtValue>(AllocatedTensor(ElementOf(type), ShapeOf(shape, shape_len), memory)).release();
  });
}

OrtStatusPtr CreateTensorWithDataAsOrtValue(const OrtMemoryInfo* info, void* p_data, size_t p_data_len,
                                            const int64_t* shape, size_t shape_len, ONNXTensorElementDataType type,
                                            OrtValue** out) noexcept {
  return Guarded([&] {
    const MemoryInfo memory = MemoryOf(Given(info, "the memory info"));
    Given(out, "out");
    *out = new OrtValue(ViewOf(memory, p_data, p_data_len, shape, shape_len, ElementOf(type)));
  });
}

OrtStatusPtr CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator* deleter, void* p_data, size_t p_data_len,
                                                      const int64_t* shape, size_t shape_len,
                                                      ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return Guarded([&] {
    OrtAllocator& memory = Given(deleter, "the deleter");
    Given(out, "out");
    const OrtMemoryInfo* info = memory.Info == nullptr ? nullptr : memory.Info(&memory);
    const Tensor view =
        ViewOf(info == nullptr ? MemoryInfo() : MemoryOf(*info), p_data, p_data_len, shape, shape_len, ElementOf(type));
    auto value = std::make_unique<OrtValue>();
    // From here on the buffer is ours to free, whatever happens.
    std::shared_ptr<void> owner(p_data, [&memory](void* data) {
      if (data != nullptr) memory.Free(&memory, data);
    });
    static_cast<Value&>(*value) = Tensor::Share(view.type(), view.shape(), p_data, std::move(owner), view.memory());
    *out = value.release();
  });
}

OrtStatusPtr IsTensor(const OrtValue* value, int* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(value, "the value").is_tensor() ? 1 : 0; });
}

OrtStatusPtr IsSparseTensor(const OrtValue* value, int* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(value, "the value").kind() == ValueKind::kSparseTensor ? 1 : 0; });
}

OrtStatusPtr HasValue(const OrtValue* value, int* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(value, "the value").is_none() ? 0 : 1; });
}

OrtStatusPtr GetTensorMutableData(OrtValue* value, void** out) noexcept {
  return Guarded([&] { Given(out, "out") = TensorIn(value).mutable_raw(); });
}

OrtStatusPtr GetTensorData(const OrtValue* value, const void** out) noexcept {
  return Guarded([&] { Given(out, "out") = TensorIn(value).raw(); });
}

OrtStatusPtr GetTensorSizeInBytes(const OrtValue* ort_value, size_t* size) noexcept {
  return Guarded([&] {
    const Tensor& tensor = TensorIn(ort_value);
    Require(!tensor.is(ElementType::kString), "strings have no size of their own; use GetStringTensorDataLength");
    Given(size, "the size") = tensor.byte_size();
  });
}

OrtStatusPtr TensorAt(OrtValue* value, const int64_t* location_values, size_t location_values_count, void** out) noexcept {
  return Guarded([&] {
    Tensor& tensor = TensorIn(value);
    const Shape& shape = tensor.shape();
    Require(!tensor.is(ElementType::kString), "strings are read by GetStringTensorElement");
    Require(BitWidth(tensor.type()) >= 8, "elements of {} have no address", ElementTypeName(tensor.type()));
    Require(location_values_count == shape.rank(), "{} indices are given for a shape of rank {}", location_values_count,
            shape.rank());
    int64_t offset = 0;
    for (size_t i = 0; i < shape.rank(); ++i) {
      const int64_t index = (&Given(location_values, "the location"))[i];
      Require(index >= 0 && index < shape[i], "index {} of dimension {} is outside of shape {}", index, i, shape);
      offset = offset * shape[i] + index;
    }
    const auto width = static_cast<int64_t>(BitWidth(tensor.type()) / 8);
    Given(out, "out") = static_cast<std::byte*>(tensor.mutable_raw()) + offset * width;
  });
}

OrtStatusPtr GetTensorTypeAndShape(const OrtValue* value, OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guarded([&] {
    const OrtValue& given = Given(value, "the value");
    Given(out, "out");
    if (given.kind() != ValueKind::kSparseTensor) {
      *out = InfoOf(given.tensor()).release();
      return;
    }
    auto info = InfoOf(given.sparse_tensor().values);
    info->dims = given.sparse_tensor().dense_shape;
    *out = info.release();
  });
}

OrtStatusPtr GetTensorElementTypeAndShapeDataReference(const OrtValue* value, ONNXTensorElementDataType* elem_type,
                                                       const int64_t** shape_data, size_t* shape_data_count) noexcept {
  return Guarded([&] {
    const OrtValue& given = Given(value, "the value");
    const bool sparse = given.kind() == ValueKind::kSparseTensor;
    const Tensor& tensor = sparse ? given.sparse_tensor().values : given.tensor();
    const Shape& shape = sparse ? given.sparse_tensor().dense_shape : tensor.shape();
    Given(elem_type, "the element type") = ElementOf(tensor.type());
    Given(shape_data, "the shape") = shape.rank() == 0 ? nullptr : shape.data();
    Given(shape_data_count, "the rank") = shape.rank();
  });
}

OrtStatusPtr GetTypeInfo(const OrtValue* value, OrtTypeInfo** out) noexcept {
  return Guarded([&] {
    const OrtValue& given = Given(value, "the value");
    Given(out, "out");
    const Tensor* tensor = given.tensor_if();
    if (tensor == nullptr) {
      *out = given.is_none() ? nullptr : InfoOf(given.type()).release();
      return;
    }
    auto info = std::make_unique<OrtTypeInfo>();
    info->kind = ONNX_TYPE_TENSOR;
    info->tensor.element = ElementOf(tensor->type());
    info->tensor.dims = tensor->shape();
    *out = info.release();
  });
}

OrtStatusPtr GetValueType(const OrtValue* value, ONNXType* out) noexcept {
  return Guarded([&] {
    constexpr ONNXType kKinds[] = {ONNX_TYPE_UNKNOWN, ONNX_TYPE_TENSOR,       ONNX_TYPE_SEQUENCE,
                                   ONNX_TYPE_MAP,     ONNX_TYPE_SPARSETENSOR, ONNX_TYPE_OPTIONAL};
    Given(out, "out") = kKinds[static_cast<size_t>(Given(value, "the value").kind())];
  });
}

OrtStatusPtr GetTensorMemoryInfo(const OrtValue* value, const OrtMemoryInfo** mem_info) noexcept {
  return Guarded([&] {
    const OrtValue& given = Given(value, "the value");
    const Tensor* tensor = given.tensor_if();
    Given(mem_info, "out") = tensor == nullptr ? CpuInfo() : InfoOf(tensor->memory());
  });
}

void ReleaseValue(OrtValue* input) {
  if (input == nullptr) return;
  // Whoever asks once more finds nothing in it.
  static_cast<Value&>(*input) = Value();
  KeepLastWrites(input);
  delete input;
}

}  // namespace tessera::c_abi
