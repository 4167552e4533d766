// Sparse tensors in coordinates.

#include <cstring>

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/type_info.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

/// Replaces what the handle held: values are shared by others and never change.
void Put(OrtValue& value, SparseTensor sparse) { static_cast<Value&>(value) = Value(std::move(sparse)); }

/// One index for each value, or one for each of its dimensions.
Shape IndicesShape(const SparseTensor& sparse, size_t count) {
  const auto values = sparse.values.num_elements();
  const auto given = static_cast<int64_t>(count);
  if (given == values) return Shape{given};
  Require(sparse.dense_shape.rank() == 2 && given == 2 * values,
          "{} indices are given for {} values of shape {}, expected one for each, or two in two dimensions", count, values,
          sparse.dense_shape);
  return Shape{values, 2};
}

const SparseTensor& SparseIn(const OrtValue* value) { return Given(value, "the value").sparse_tensor(); }

void RequireCoordinates(OrtSparseIndicesFormat format) {
  if (format == ORT_SPARSE_COO_INDICES) return;
  Fail(ErrorCode::kInvalidArgument, "the tensor's indices are coordinates (0), {} is asked for", static_cast<int>(format));
}

}  // namespace

OrtStatusPtr CreateSparseTensorAsOrtValue(OrtAllocator* allocator, const int64_t* dense_shape, size_t dense_shape_len,
                                          ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return Guarded([&] {
    Given(allocator, "the allocator");
    Given(out, "out");
    const Shape none{0};
    *out = new OrtValue(Value(SparseTensor{.values = Tensor(ElementOf(type), none),
                                           .indices = Tensor(ElementType::kInt64, none),
                                           .dense_shape = ShapeOf(dense_shape, dense_shape_len)}));
  });
}

OrtStatusPtr FillSparseTensorCoo(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info, const int64_t* values_shape,
                                 size_t values_shape_len, const void* values, const int64_t* indices_data,
                                 size_t indices_num) noexcept {
  return Guarded([&] {
    const SparseTensor& before = SparseIn(ort_value);
    Given(data_mem_info, "the memory info");
    SparseTensor sparse{.values = Tensor(before.values.type(), ShapeOf(values_shape, values_shape_len)),
                        .indices = {},
                        .dense_shape = before.dense_shape};
    sparse.indices = Tensor(ElementType::kInt64, IndicesShape(sparse, indices_num));
    if (sparse.values.is(ElementType::kString)) {
      const auto strings = sparse.values.mutable_values<std::string>();
      for (size_t i = 0; i < strings.size(); ++i) strings[i] = static_cast<const char* const*>(values)[i];
    } else if (sparse.values.byte_size() > 0) {
      std::memcpy(sparse.values.mutable_raw(), &Given(static_cast<const char*>(values), "the values"),
                  sparse.values.byte_size());
    }
    if (indices_num > 0)
      std::memcpy(sparse.indices.mutable_raw(), &Given(indices_data, "the indices"), sparse.indices.byte_size());
    Put(*ort_value, std::move(sparse));
  });
}

OrtStatusPtr CreateSparseTensorWithValuesAsOrtValue(const OrtMemoryInfo* info, void* p_data, const int64_t* dense_shape,
                                                    size_t dense_shape_len, const int64_t* values_shape,
                                                    size_t values_shape_len, ONNXTensorElementDataType type,
                                                    OrtValue** out) noexcept {
  return Guarded([&] {
    Given(info, "the memory info");
    Given(out, "out");
    const ElementType element = ElementOf(type);
    Require(element != ElementType::kString, "sparse strings cannot look at memory; use FillSparseTensorCoo");
    *out = new OrtValue(Value(SparseTensor{.values = Tensor::View(element, ShapeOf(values_shape, values_shape_len), p_data),
                                           .indices = {},
                                           .dense_shape = ShapeOf(dense_shape, dense_shape_len)}));
  });
}

OrtStatusPtr UseCooIndices(OrtValue* ort_value, int64_t* indices_data, size_t indices_num) noexcept {
  return Guarded([&] {
    SparseTensor sparse = SparseIn(ort_value);
    sparse.indices = Tensor::View(ElementType::kInt64, IndicesShape(sparse, indices_num), indices_data);
    Put(*ort_value, std::move(sparse));
  });
}

OrtStatusPtr GetSparseTensorFormat(const OrtValue* ort_value, OrtSparseFormat* out) noexcept {
  return Guarded([&] {
    const Tensor& indices = SparseIn(ort_value).indices;
    Given(out, "out") = indices.defined() && indices.num_elements() > 0 ? ORT_SPARSE_COO : ORT_SPARSE_UNDEFINED;
  });
}

OrtStatusPtr GetSparseTensorValuesTypeAndShape(const OrtValue* ort_value, OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guarded([&] { Given(out, "out") = InfoOf(SparseIn(ort_value).values).release(); });
}

OrtStatusPtr GetSparseTensorValues(const OrtValue* ort_value, const void** out) noexcept {
  return Guarded([&] {
    const Tensor& values = SparseIn(ort_value).values;
    Require(!values.is(ElementType::kString), "sparse strings have no block of memory");
    Given(out, "out") = values.raw();
  });
}

OrtStatusPtr GetSparseTensorIndicesTypeShape(const OrtValue* ort_value, OrtSparseIndicesFormat indices_format,
                                             OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guarded([&] {
    RequireCoordinates(indices_format);
    Given(out, "out") = InfoOf(SparseIn(ort_value).indices).release();
  });
}

OrtStatusPtr GetSparseTensorIndices(const OrtValue* ort_value, OrtSparseIndicesFormat indices_format, size_t* num_indices,
                                    const void** indices) noexcept {
  return Guarded([&] {
    RequireCoordinates(indices_format);
    const Tensor& own = SparseIn(ort_value).indices;
    Given(num_indices, "the number") = static_cast<size_t>(own.num_elements());
    Given(indices, "out") = own.raw();
  });
}

}  // namespace tessera::c_abi
