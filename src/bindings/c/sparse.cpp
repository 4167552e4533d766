// Sparse tensors.

#include <cstring>
#include <memory>

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/type_info.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

/// Replaces what the handle held: values are shared by others and never change. Indices are put there once.
void Put(OrtValue& value, SparseTensor sparse) {
  if (value.sparse_tensor().indices.defined())
    Fail(ErrorCode::kFail, "the sparse tensor has its indices already; make another one");
  static_cast<Value&>(value) = Value(std::move(sparse));
}

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

/// Throws Error for indices outside of the tensor.
void RequireInside(const SparseTensor& sparse) {
  const std::span<const int64_t> indices = sparse.indices.values<int64_t>();
  const Shape& dense = sparse.dense_shape;
  const bool linear = sparse.indices.shape().rank() == 1;
  const int64_t elements = dense.num_elements();
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t end = linear ? elements : dense[i % 2];
    Require(indices[i] >= 0 && indices[i] < end, "index {} is {}, outside of shape {}", i, indices[i], dense);
  }
}

const SparseTensor& SparseIn(const OrtValue* value) { return Given(value, "the value").sparse_tensor(); }

/// Its values, once there are indices that say where they are.
const Tensor& ValuesIn(const OrtValue* value) {
  const SparseTensor& sparse = SparseIn(value);
  if (!sparse.indices.defined()) Fail(ErrorCode::kFail, "the sparse tensor has no indices yet; fill it first");
  return sparse.values;
}

/// Indices as the client gave them, where that is not coordinates. They are the owner of the indices that the tensor has
/// for everybody else: of compressed rows these are coordinates, of blocks there are none that an operator could read.
struct ClientIndices {
  OrtSparseFormat format;
  Tensor inner, outer;  // of blocks: `inner` alone
  Tensor coordinates;
};
/// Tells such an owner from others.
struct DeleteClientIndices {
  void operator()(ClientIndices* indices) const { delete indices; }
};

const ClientIndices* FormOf(const SparseTensor& sparse) {
  const std::shared_ptr<void>& owner = sparse.indices.owner();
  if (std::get_deleter<DeleteClientIndices>(owner) == nullptr) return nullptr;
  return static_cast<const ClientIndices*>(owner.get());
}

Tensor IndicesOf(ClientIndices form) {
  const std::shared_ptr<ClientIndices> kept(new ClientIndices(std::move(form)), DeleteClientIndices());
  Tensor& shown = kept->format == ORT_SPARSE_CSRC ? kept->coordinates : kept->inner;
  return Tensor::Share(shown.type(), shown.shape(), shown.mutable_raw(), kept);
}

/// Position in the dense tensor of each value; throws Error for rows that are none.
Tensor CoordinatesOf(const SparseTensor& sparse, std::span<const int64_t> columns, std::span<const int64_t> starts) {
  Require(sparse.dense_shape.rank() == 2, "compressed rows are of two dimensions, the tensor has shape {}",
          sparse.dense_shape);
  const int64_t rows = sparse.dense_shape[0], width = sparse.dense_shape[1];
  const auto count = static_cast<int64_t>(columns.size());
  Require(
      count == sparse.values.num_elements() && static_cast<int64_t>(starts.size()) == rows + 1,
      "{} inner and {} outer indices are given for {} values in {} rows, expected one for each value, and one more than "
      "rows",
      count, starts.size(), sparse.values.num_elements(), rows);
  Tensor coordinates(ElementType::kInt64, Shape{count});
  auto* out = coordinates.mutable_data<int64_t>();
  Require(starts.front() == 0 && starts.back() == count, "outer indices go from {} to {}, expected 0 to {}", starts.front(),
          starts.back(), count);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = starts[static_cast<size_t>(row)], end = starts[static_cast<size_t>(row) + 1];
    Require(begin <= end && end <= count, "outer index {} is {} after {}", row + 1, end, begin);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = columns[static_cast<size_t>(i)];
      Require(column >= 0 && column < width, "inner index {} is {} in rows of {}", i, column, width);
      out[i] = row * width + column;
    }
  }
  return coordinates;
}

/// `copy`: of the client's indices, instead of a look at them.
Tensor ClientTensor(ElementType type, const Shape& shape, void* data, bool copy) {
  const Tensor view = Tensor::View(type, shape, data);
  return copy ? view.Clone() : view;
}

void PutCsr(OrtValue& value, SparseTensor sparse, int64_t* inner, size_t inner_num, int64_t* outer, size_t outer_num,
            bool copy) {
  ClientIndices form{.format = ORT_SPARSE_CSRC,
                     .inner = ClientTensor(ElementType::kInt64, Shape{static_cast<int64_t>(inner_num)}, inner, copy),
                     .outer = ClientTensor(ElementType::kInt64, Shape{static_cast<int64_t>(outer_num)}, outer, copy),
                     .coordinates = {}};
  form.coordinates = CoordinatesOf(sparse, form.inner.values<int64_t>(), form.outer.values<int64_t>());
  sparse.indices = IndicesOf(std::move(form));
  Put(value, std::move(sparse));
}

/// One pair of indices for each block: [2, blocks]. Values are [height, width, blocks], as ONNX Runtime counts them.
void PutBlocks(OrtValue& value, SparseTensor sparse, const Shape& indices_shape, int32_t* indices, bool copy) {
  const Shape& values = sparse.values.shape();
  int64_t blocks = 1;
  for (size_t i = 2; i < values.rank(); ++i) blocks *= values[i];
  Require(values.rank() >= 3 && indices_shape.rank() == 2 && indices_shape[0] == 2 && indices_shape[1] == blocks,
          "block indices of shape {} are given for values of shape {}, expected [2, blocks] and [height, width, blocks]",
          indices_shape, values);
  sparse.indices = IndicesOf({.format = ORT_SPARSE_BLOCK_SPARSE,
                              .inner = ClientTensor(ElementType::kInt32, indices_shape, indices, copy),
                              .outer = {},
                              .coordinates = {}});
  Put(value, std::move(sparse));
}

/// The tensor with a copy of the client's values, and no indices yet.
SparseTensor FilledWith(const OrtValue* value, const int64_t* shape, size_t rank, const void* values) {
  const SparseTensor& before = SparseIn(value);
  SparseTensor sparse{
      .values = Tensor(before.values.type(), ShapeOf(shape, rank)), .indices = {}, .dense_shape = before.dense_shape};
  if (sparse.values.is(ElementType::kString)) {
    const auto strings = sparse.values.mutable_values<std::string>();
    const char* const* texts = strings.empty() ? nullptr : &Given(static_cast<const char* const*>(values), "the values");
    for (size_t i = 0; i < strings.size(); ++i) strings[i] = &Given(texts[i], "a string");
  } else if (sparse.values.byte_size() > 0) {
    std::memcpy(sparse.values.mutable_raw(), &Given(static_cast<const char*>(values), "the values"),
                sparse.values.byte_size());
  }
  return sparse;
}

/// The tensor's indices of that kind; throws Error where it has none.
const Tensor& IndicesIn(const OrtValue* value, OrtSparseIndicesFormat kind) {
  const SparseTensor& sparse = SparseIn(value);
  const ClientIndices* form = FormOf(sparse);
  const OrtSparseFormat format = form == nullptr ? ORT_SPARSE_COO : form->format;
  if (!sparse.indices.defined()) Fail(ErrorCode::kInvalidArgument, "the sparse tensor has no indices yet; fill it first");
  if (kind == ORT_SPARSE_COO_INDICES && format == ORT_SPARSE_COO) return sparse.indices;
  if (kind == ORT_SPARSE_CSR_INNER_INDICES && format == ORT_SPARSE_CSRC) return form->inner;
  if (kind == ORT_SPARSE_CSR_OUTER_INDICES && format == ORT_SPARSE_CSRC) return form->outer;
  if (kind == ORT_SPARSE_BLOCK_SPARSE_INDICES && format == ORT_SPARSE_BLOCK_SPARSE) return form->inner;
  Fail(ErrorCode::kInvalidArgument, "the tensor's format is {}, which has no indices of kind {}", static_cast<int>(format),
       static_cast<int>(kind));
}

}  // namespace

OrtStatusPtr CreateSparseTensorAsOrtValue(OrtAllocator* allocator, const int64_t* dense_shape, size_t dense_shape_len,
                                          ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return Guarded([&] {
    Given(allocator, "the allocator");
    Given(out, "out");
    const Shape none{0};
    *out = new OrtValue(Value(SparseTensor{
        .values = Tensor(ElementOf(type), none), .indices = {}, .dense_shape = ShapeOf(dense_shape, dense_shape_len)}));
  });
}

OrtStatusPtr FillSparseTensorCoo(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info, const int64_t* values_shape,
                                 size_t values_shape_len, const void* values, const int64_t* indices_data,
                                 size_t indices_num) noexcept {
  return Guarded([&] {
    Given(data_mem_info, "the memory info");
    SparseTensor sparse = FilledWith(ort_value, values_shape, values_shape_len, values);
    sparse.indices = Tensor(ElementType::kInt64, IndicesShape(sparse, indices_num));
    if (indices_num > 0)
      std::memcpy(sparse.indices.mutable_raw(), &Given(indices_data, "the indices"), sparse.indices.byte_size());
    RequireInside(sparse);
    Put(*ort_value, std::move(sparse));
  });
}

OrtStatusPtr FillSparseTensorCsr(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info, const int64_t* values_shape,
                                 size_t values_shape_len, const void* values, const int64_t* inner_indices_data,
                                 size_t inner_indices_num, const int64_t* outer_indices_data,
                                 size_t outer_indices_num) noexcept {
  return Guarded([&] {
    Given(data_mem_info, "the memory info");
    PutCsr(Given(ort_value, "the value"), FilledWith(ort_value, values_shape, values_shape_len, values),
           const_cast<int64_t*>(inner_indices_data), inner_indices_num, const_cast<int64_t*>(outer_indices_data),
           outer_indices_num, true);
  });
}

OrtStatusPtr FillSparseTensorBlockSparse(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                                         const int64_t* values_shape, size_t values_shape_len, const void* values,
                                         const int64_t* indices_shape_data, size_t indices_shape_len,
                                         const int32_t* indices_data) noexcept {
  return Guarded([&] {
    Given(data_mem_info, "the memory info");
    PutBlocks(Given(ort_value, "the value"), FilledWith(ort_value, values_shape, values_shape_len, values),
              ShapeOf(indices_shape_data, indices_shape_len), const_cast<int32_t*>(indices_data), true);
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
    RequireInside(sparse);
    Put(*ort_value, std::move(sparse));
  });
}

OrtStatusPtr UseCsrIndices(OrtValue* ort_value, int64_t* inner_data, size_t inner_num, int64_t* outer_data,
                           size_t outer_num) noexcept {
  return Guarded([&] {
    PutCsr(Given(ort_value, "the value"), SparseIn(ort_value), inner_data, inner_num, outer_data, outer_num, false);
  });
}

OrtStatusPtr UseBlockSparseIndices(OrtValue* ort_value, const int64_t* indices_shape, size_t indices_shape_len,
                                   int32_t* indices_data) noexcept {
  return Guarded([&] {
    PutBlocks(Given(ort_value, "the value"), SparseIn(ort_value), ShapeOf(indices_shape, indices_shape_len), indices_data,
              false);
  });
}

OrtStatusPtr GetSparseTensorFormat(const OrtValue* ort_value, OrtSparseFormat* out) noexcept {
  return Guarded([&] {
    const SparseTensor& sparse = SparseIn(ort_value);
    const Tensor& indices = sparse.indices;
    OrtSparseFormat& format = Given(out, "out");
    if (const ClientIndices* form = FormOf(sparse); form != nullptr) {
      format = form->format;
      return;
    }
    format = indices.defined() ? ORT_SPARSE_COO : ORT_SPARSE_UNDEFINED;
  });
}

OrtStatusPtr GetSparseTensorValuesTypeAndShape(const OrtValue* ort_value, OrtTensorTypeAndShapeInfo** out) noexcept {
  return Making(out, [&] { return InfoOf(ValuesIn(ort_value)).release(); });
}

OrtStatusPtr GetSparseTensorValues(const OrtValue* ort_value, const void** out) noexcept {
  return Guarded([&] {
    const Tensor& values = ValuesIn(ort_value);
    Require(!values.is(ElementType::kString), "sparse strings have no block of memory");
    Given(out, "out") = values.raw();
  });
}

OrtStatusPtr GetSparseTensorIndicesTypeShape(const OrtValue* ort_value, OrtSparseIndicesFormat indices_format,
                                             OrtTensorTypeAndShapeInfo** out) noexcept {
  return Making(out, [&] { return InfoOf(IndicesIn(ort_value, indices_format)).release(); });
}

OrtStatusPtr GetSparseTensorIndices(const OrtValue* ort_value, OrtSparseIndicesFormat indices_format, size_t* num_indices,
                                    const void** indices) noexcept {
  return Guarded([&] {
    const Tensor& own = IndicesIn(ort_value, indices_format);
    Given(num_indices, "the number") = static_cast<size_t>(own.num_elements());
    Given(indices, "out") = own.raw();
  });
}

}  // namespace tessera::c_abi
