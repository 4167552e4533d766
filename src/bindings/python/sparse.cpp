// Sparse tensors: in coordinates, in compressed rows and in blocks.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/python/arrays.h"
#include "bindings/python/device.h"
#include "bindings/python/ort_value.h"
#include "bindings/python/runtime.h"

namespace tessera::python {
namespace {

struct Sparse {
  Value value;
  const SparseTensor& tensor() const { return value.sparse_tensor(); }
};

/// Indices of one format.
struct CooView {
  Tensor indices;
};
struct CsrView {
  Tensor inner, outer;
};
struct BlockView {
  Tensor indices;
};

/// Sparse tensors lie in the processor's memory here.
void RequireHost(const Device& device) {
  if (device.type != 0) throw std::runtime_error("sparse tensors lie in the processor's memory");
}

Shape DimsIn(nb::handle given) {
  std::vector<int64_t> dims;
  for (const nb::handle dim : nb::borrow<nb::iterable>(given)) dims.push_back(nb::cast<int64_t>(dim));
  return Shape(dims);
}

/// Of whole numbers, whatever their type; `type` is numpy's name of it.
Tensor IndicesIn(nb::handle given, const char* type) {
  const nb::object numbers = nb::module_::import_("numpy").attr("asarray")(given);
  const nb::object converted = numbers.attr("astype")(type, nb::arg("casting") = "same_kind", nb::arg("copy") = false);
  return Take(converted, {}).tensor();
}

Sparse FromCoordinates(nb::handle dense_shape, nb::handle values, nb::handle indices, const Device& device) {
  RequireHost(device);
  SparseTensor sparse{
      .values = Take(values, {}).tensor(), .indices = IndicesIn(indices, "int64"), .dense_shape = DimsIn(dense_shape)};
  if (sparse.indices.shape().rank() == 1 && sparse.indices.num_elements() != sparse.values.num_elements()) {
    const int64_t count = sparse.values.num_elements();
    sparse.indices = sparse.indices.Reshaped(Shape{count, static_cast<int64_t>(sparse.dense_shape.rank())});
  }
  (void)sparse.ToDense();  // throws for coordinates outside
  return {Value(std::move(sparse))};
}

/// A sparse tensor whose values and indices `fill` copies into the handle that it gets.
template <class Fill>
Sparse Filled(nb::handle dense_shape, const Tensor& values, const Fill& fill) {
  if (values.is(ElementType::kString))
    throw std::runtime_error("strings are kept in coordinates: use sparse_coo_from_numpy");
  OrtAllocator* allocator = nullptr;
  CheckCall(Api().GetAllocatorWithDefaultOptions(&allocator));
  const Shape dims = DimsIn(dense_shape);
  OrtValue* made = nullptr;
  CheckCall(Api().CreateSparseTensorAsOrtValue(allocator, dims.data(), dims.rank(),
                                               static_cast<ONNXTensorElementDataType>(values.type()), &made));
  const std::unique_ptr<OrtValue, void (*)(OrtValue*)> owned(made, Api().ReleaseValue);
  OrtMemoryInfo* memory = nullptr;
  CheckCall(Api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  OrtStatus* status = fill(made, memory, values.shape(), values.raw());
  Api().ReleaseMemoryInfo(memory);
  CheckCall(status);
  return {Value(std::move(static_cast<Value&>(*made)))};
}

Sparse FromRows(nb::handle dense_shape, nb::handle values, nb::handle inner, nb::handle outer, const Device& device) {
  RequireHost(device);
  const Tensor columns = IndicesIn(inner, "int64"), starts = IndicesIn(outer, "int64");
  const auto fill = [&](OrtValue* made, const OrtMemoryInfo* memory, const Shape& shape, const void* data) {
    return Api().FillSparseTensorCsr(made, memory, shape.data(), shape.rank(), data, columns.data<int64_t>(),
                                     static_cast<size_t>(columns.num_elements()), starts.data<int64_t>(),
                                     static_cast<size_t>(starts.num_elements()));
  };
  return Filled(dense_shape, Take(values, {}).tensor(), fill);
}

Sparse FromBlocks(nb::handle dense_shape, nb::handle values, nb::handle indices, const Device& device) {
  RequireHost(device);
  const Tensor blocks = IndicesIn(indices, "int32");
  const auto fill = [&](OrtValue* made, const OrtMemoryInfo* memory, const Shape& shape, const void* data) {
    return Api().FillSparseTensorBlockSparse(made, memory, shape.data(), shape.rank(), data, blocks.shape().data(),
                                             blocks.shape().rank(), blocks.data<int32_t>());
  };
  return Filled(dense_shape, Take(values, {}).tensor(), fill);
}

/// The tensor's indices of that kind; RuntimeError where its format is another. They keep the tensor.
Tensor IndicesOf(const Sparse& self, OrtSparseIndicesFormat kind) {
  const auto kept = std::make_shared<OrtValue>(self.value);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  CheckCall(Api().GetSparseTensorIndicesTypeShape(kept.get(), kind, &info));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> owned(
      info, Api().ReleaseTensorTypeAndShapeInfo);
  size_t rank = 0;
  CheckCall(Api().GetDimensionsCount(info, &rank));
  Shape shape(rank);
  CheckCall(Api().GetDimensions(info, shape.data(), rank));
  size_t count = 0;
  const void* data = nullptr;
  CheckCall(Api().GetSparseTensorIndices(kept.get(), kind, &count, &data));
  const ElementType type = kind == ORT_SPARSE_BLOCK_SPARSE_INDICES ? ElementType::kInt32 : ElementType::kInt64;
  return Tensor::Share(type, shape, const_cast<void*>(data), kept);
}

OrtSparseFormat FormatOf(const Sparse& self) {
  const OrtValue value(self.value);
  OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
  CheckCall(Api().GetSparseTensorFormat(&value, &format));
  return format;
}

void BindViews(nb::module_& module) {
  nb::class_<CooView>(module, "SparseCooView").def("indices", [](const CooView& self) { return ToPython(self.indices); });
  nb::class_<CsrView>(module, "SparseCsrView")
      .def("inner", [](const CsrView& self) { return ToPython(self.inner); })
      .def("outer", [](const CsrView& self) { return ToPython(self.outer); });
  nb::class_<BlockView>(module, "SparseBlockSparseView").def("indices", [](const BlockView& self) {
    return ToPython(self.indices);
  });
}

void DefineMakers(nb::class_<Sparse>& sparse) {
  sparse.def("__init__", [](Sparse* self, const Sparse& other) { new (self) Sparse(other); }, nb::arg("sparse_tensor"));
  sparse.def_static("sparse_coo_from_numpy", &FromCoordinates, nb::arg("dense_shape"), nb::arg("values"),
                    nb::arg("coo_indices"), nb::arg("ort_device"),
                    "From values and their coordinates: linear ones, or a row for each value.");
  sparse.def_static(
      "sparse_csr_from_numpy", &FromRows, nb::arg("dense_shape"), nb::arg("values"), nb::arg("inner_indices"),
      nb::arg("outer_indices"), nb::arg("ort_device"),
      "From values, the column of each, and where each row begins among them, the end of the last behind it.");
  sparse.def_static("blocksparse_from_numpy", &FromBlocks, nb::arg("dense_shape"), nb::arg("values"), nb::arg("indices"),
                    nb::arg("ort_device"), "From blocks of values [height, width, blocks] and their indices [2, blocks].");
}

void DefineViews(nb::class_<Sparse>& sparse) {
  const auto coordinates = [](const Sparse& self) { return CooView{IndicesOf(self, ORT_SPARSE_COO_INDICES)}; };
  const auto rows = [](const Sparse& self) {
    return CsrView{IndicesOf(self, ORT_SPARSE_CSR_INNER_INDICES), IndicesOf(self, ORT_SPARSE_CSR_OUTER_INDICES)};
  };
  const auto blocks = [](const Sparse& self) { return BlockView{IndicesOf(self, ORT_SPARSE_BLOCK_SPARSE_INDICES)}; };
  sparse.def("as_coo_view", coordinates, "The coordinates.");
  sparse.def("get_coo_data", coordinates);
  sparse.def("as_csrc_view", rows, "The columns and the beginnings of the rows.");
  sparse.def("get_csrc_data", rows);
  sparse.def("as_blocksparse_view", blocks, "The indices of the blocks.");
  sparse.def("get_blocksparse_data", blocks);
}

void Define(nb::module_& module) {
  auto sparse =
      nb::class_<Sparse>(module, "SparseTensor", "A tensor of which few elements are kept, each with its coordinates.");
  DefineMakers(sparse);
  DefineViews(sparse);
  sparse.def(
      "values", [](const Sparse& self) { return ToPython(self.tensor().values); }, "An array of the values that are kept.");
  sparse.def(
      "to_cuda", [](const Sparse&, const Device&) { throw std::runtime_error("CUDA is not in this build"); },
      nb::arg("ort_device"));
  sparse.def("format", &FormatOf, "How the indices of the values are kept.");
  sparse.def("dense_shape", [](const Sparse& self) {
    nb::list dims;
    for (const int64_t dim : self.tensor().dense_shape) dims.append(dim);
    return dims;
  });
  sparse.def("data_type", [](const Sparse& self) {
    return "sparse_tensor(" + std::string(ElementTypeName(self.tensor().values.type())) + ")";
  });
  sparse.def("device_name", [](const Sparse&) { return "cpu"; });
  sparse.def("_get_c_tensor", [](nb::object self) { return self; });
}

}  // namespace

const Value* ValueIn(nb::handle object) {
  HeldValue* held = nullptr;
  if (nb::try_cast(object, held) && held != nullptr) return &held->value;
  Sparse* sparse = nullptr;
  if (nb::try_cast(object, sparse) && sparse != nullptr) return &sparse->value;
  return nullptr;
}

nb::object SparseObject(Value value) { return nb::cast(Sparse{std::move(value)}); }

void BindSparse(nb::module_& module) {
  BindViews(module);
  Define(module);
}

}  // namespace tessera::python
