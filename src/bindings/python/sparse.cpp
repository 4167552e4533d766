// Sparse tensors in coordinates.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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

struct CooView {
  Tensor indices;
};

Sparse FromCoordinates(nb::handle dense_shape, nb::handle values, nb::handle indices, nb::handle /*device*/) {
  std::vector<int64_t> dims;
  for (const nb::handle dim : nb::borrow<nb::iterable>(dense_shape)) dims.push_back(nb::cast<int64_t>(dim));
  SparseTensor sparse{.values = Take(values, {}).tensor(), .indices = {}, .dense_shape = Shape(dims)};
  sparse.indices = Take(indices, TypeInfo::OfTensor(ElementType::kInt64)).tensor();
  if (!sparse.indices.is(ElementType::kInt64))
    throw Error(ErrorCode::kInvalidArgument,
                "the coordinates are " + std::string(ElementTypeName(sparse.indices.type())) + ", expected int64");
  if (sparse.indices.shape().rank() == 1 && sparse.indices.num_elements() != sparse.values.num_elements()) {
    const int64_t count = sparse.values.num_elements();
    sparse.indices = sparse.indices.Reshaped(Shape{count, static_cast<int64_t>(dims.size())});
  }
  (void)sparse.ToDense();  // throws for coordinates outside
  return {Value(std::move(sparse))};
}

[[noreturn]] void RefuseFormat() {
  throw StatusError(
      ORT_NOT_IMPLEMENTED,
      ErrorText(ORT_NOT_IMPLEMENTED, "sparse tensors are kept in coordinates here: use sparse_coo_from_numpy"));
}

void Define(nb::module_& module) {
  auto sparse =
      nb::class_<Sparse>(module, "SparseTensor", "A tensor of which few elements are kept, each with its coordinates.");
  sparse.def("__init__", [](Sparse* self, const Sparse& other) { new (self) Sparse(other); });
  sparse.def_static("sparse_coo_from_numpy", &FromCoordinates, nb::arg("dense_shape"), nb::arg("values"),
                    nb::arg("coo_indices"), nb::arg("ort_device"),
                    "From values and their coordinates: linear ones, or a row for each value.");
  sparse.def_static("sparse_csr_from_numpy", [](const nb::args&, const nb::kwargs&) { RefuseFormat(); });
  sparse.def_static("blocksparse_from_numpy", [](const nb::args&, const nb::kwargs&) { RefuseFormat(); });
  sparse.def(
      "values", [](const Sparse& self) { return ToPython(self.tensor().values); }, "An array of the values that are kept.");
  const auto view = [](const Sparse& self) { return CooView{self.tensor().indices}; };
  sparse.def("as_coo_view", view, "The coordinates.");
  sparse.def("get_coo_data", view);
  for (const char* other : {"as_csrc_view", "get_csrc_data", "as_blocksparse_view", "get_blocksparse_data", "to_cuda"})
    sparse.def(other, [](const Sparse&, const nb::args&) { RefuseFormat(); });
  sparse.def("format", [](const Sparse& self) {
    return self.tensor().values.num_elements() > 0 ? ORT_SPARSE_COO : ORT_SPARSE_UNDEFINED;
  });
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
  nb::class_<CooView>(module, "SparseCooView").def("indices", [](const CooView& self) { return ToPython(self.indices); });
  Define(module);
}

}  // namespace tessera::python
