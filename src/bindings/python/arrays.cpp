#include "bindings/python/arrays.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "bindings/python/element_types.h"
#include "bindings/python/interpreter.h"
#include "bindings/python/ort_value.h"
#include "bindings/python/strings.h"

namespace tessera::python {
namespace {

/// numpy takes longer to import than all of this module: it is asked for with the first array.
void LoadNumpy() {
  static std::atomic<bool> loaded = false;
  if (loaded.load(std::memory_order_acquire)) [[likely]]
    return;
  if (_import_array() < 0) nb::raise_python_error();  // by two threads at once: both find the same
  loaded.store(true, std::memory_order_release);
}

PyArrayObject* ArrayIn(nb::handle object) noexcept { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

nb::object Checked(PyObject* made) {
  if (made == nullptr) nb::raise_python_error();
  return nb::steal(made);
}

constexpr int kVString = 2056;  // numpy 2's strings of any length, which headers for numpy 1 do not name
constexpr int kTextTypes[] = {NPY_OBJECT, NPY_UNICODE, NPY_STRING, kVString};

/// Of numpy's own types by number, of those that ml_dtypes adds by name; kUndefined for all others.
ElementType TypeOf(PyArray_Descr* dtype) {
  const ElementType builtin = ElementTypeOfNumber(dtype->type_num);
  if (builtin != ElementType::kUndefined) [[likely]]
    return builtin;
  if (std::ranges::find(kTextTypes, dtype->type_num) != std::end(kTextTypes)) return ElementType::kString;
  return ElementTypeOfExtension(dtype->typeobj->tp_name);
}

ElementType RequiredTypeOf(PyArrayObject* array) {
  PyArray_Descr* dtype = PyArray_DESCR(array);
  const ElementType type = TypeOf(dtype);
  if (type != ElementType::kUndefined) [[likely]]
    return type;
  throw Error(ErrorCode::kInvalidArgument,
              "no tensor has elements of numpy's type " + TextOf(reinterpret_cast<PyObject*>(dtype)));
}

Shape ShapeOf(PyArrayObject* array) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  const auto* dims = reinterpret_cast<const int64_t*>(PyArray_DIMS(array));
  return Shape(std::span<const int64_t>(dims, static_cast<size_t>(PyArray_NDIM(array))));
}

/// True where the elements lie as those of a tensor, so that nothing has to be copied.
bool LiesAsTensor(PyArrayObject* array) noexcept {
  return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array);
}

nb::object AsObjects(PyArrayObject* array) {
  return Checked(
      PyArray_FROMANY(reinterpret_cast<PyObject*>(array), NPY_OBJECT, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST));
}

/// The references first: an element's str() may run any code, which could resize the array or write to it.
std::vector<nb::object> ElementsOf(PyArrayObject* objects) {
  std::vector<nb::object> elements(static_cast<size_t>(PyArray_SIZE(objects)));
  auto* const* from = static_cast<PyObject**>(PyArray_DATA(objects));
  for (nb::object& element : elements) element = nb::borrow(*from++);
  return elements;
}

Tensor StringsIn(PyArrayObject* array) {
  const nb::object objects = AsObjects(array);
  Tensor tensor(ElementType::kString, ShapeOf(ArrayIn(objects)));
  const std::vector<nb::object> elements = ElementsOf(ArrayIn(objects));
  const bool bytes = PyArray_TYPE(array) == NPY_STRING;
  std::string* text = tensor.mutable_data<std::string>();
  for (const nb::object& element : elements) *text++ = bytes ? BytesOf(element.ptr()) : TextOf(element.ptr());
  return tensor;
}

/// Ends the hold on an array that may only be read. Tensors over it are known by this deleter of their owner, whoever has
/// a handle on them.
struct ReadOnlyRelease {
  void operator()(void* held) const noexcept { LetGo(held); }
};

std::shared_ptr<void> OwnerOfArray(nb::object array) {
  if (PyArray_ISWRITEABLE(ArrayIn(array))) return Owner(std::move(array));
  return {array.release().ptr(), ReadOnlyRelease()};
}

/// Looks at the array's elements; `array` becomes the one that they lie in, another one where they have to be moved.
Tensor ViewOf(nb::object& array) {
  PyArrayObject* given = ArrayIn(array);
  const ElementType type = RequiredTypeOf(given);
  if (type == ElementType::kString) return StringsIn(given);
  if (BitWidth(type) < 8) {
    const nb::object bytes = Checked(PyArray_FROM_OF(array.ptr(), NPY_ARRAY_CARRAY_RO));
    return PackedFrom(type, ShapeOf(given), static_cast<const uint8_t*>(PyArray_DATA(ArrayIn(bytes))));
  }
  if (!LiesAsTensor(given)) {
    PyArray_Descr* native = PyArray_DescrNewByteorder(PyArray_DESCR(given), NPY_NATIVE);
    if (native == nullptr) nb::raise_python_error();
    array = Checked(PyArray_FromAny(array.ptr(), native, 0, 0, NPY_ARRAY_CARRAY_RO, nullptr));
    given = ArrayIn(array);
  }
  return Tensor::View(type, ShapeOf(given), PyArray_DATA(given));
}

/// Lists and numbers take the declared type, or numpy's choice where none is known.
nb::object ArrayFrom(nb::handle object, ElementType declared) {
  const int number = NumberOfElementType(declared);
  PyArray_Descr* dtype = nullptr;
  if (declared == ElementType::kString) dtype = PyArray_DescrFromType(NPY_OBJECT);
  if (number >= 0) dtype = PyArray_DescrFromType(number);
  return Checked(PyArray_FromAny(object.ptr(), dtype, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, nullptr));
}

Value SequenceFrom(nb::handle object, const TypeInfo& declared) {
  Sequence sequence;
  if (declared.inner) sequence.element_type = *declared.inner;
  for (const nb::handle element : nb::borrow<nb::iterable>(object))
    sequence.elements.push_back(Take(element, sequence.element_type));
  return sequence;
}

Value MapFrom(nb::handle object, const TypeInfo& declared) {
  Map map;
  map.value_type = *declared.inner;
  PyObject* copy = PyDict_Copy(object.ptr());  // which nobody changes meanwhile
  if (copy == nullptr) nb::raise_python_error();
  const auto dict = nb::steal<nb::dict>(copy);
  map.keys = Tensor(declared.element, Shape{static_cast<int64_t>(dict.size())});
  size_t i = 0;
  for (const auto& [key, value] : dict) {
    if (declared.element == ElementType::kString) {
      map.keys.mutable_data<std::string>()[i++] = TextOf(key.ptr());
    } else {
      map.keys.mutable_data<int64_t>()[i++] = nb::cast<int64_t>(key);
    }
    map.values.push_back(Take(value, *declared.inner));
  }
  return map;
}

bool IsMapping(nb::handle object) { return PyDict_Check(object.ptr()); }

/// A new reference.
PyArray_Descr* DtypeOf(ElementType type) {
  const int number = NumberOfElementType(type);
  if (number >= 0) return PyArray_DescrFromType(number);
  return reinterpret_cast<PyArray_Descr*>(ExtensionDtype(type).release().ptr());
}

/// One of numpy's arrays over the tensor's own buffer, which the array keeps; not to be written to where that is an array's
/// that was not.
nb::object ArrayOver(Tensor tensor) {
  LoadNumpy();
  npy_intp dims[NPY_MAXDIMS];
  const size_t rank = tensor.shape().rank();
  if (rank > static_cast<size_t>(NPY_MAXDIMS))
    throw Error(ErrorCode::kInvalidArgument, "numpy has no arrays of " + std::to_string(rank) + " dimensions");
  std::ranges::copy(tensor.shape(), dims);
  if (tensor.is(ElementType::kString)) {
    nb::object array = Checked(PyArray_SimpleNew(static_cast<int>(rank), dims, NPY_OBJECT));
    auto** elements = static_cast<PyObject**>(PyArray_DATA(ArrayIn(array)));
    for (const std::string& text : tensor.values<std::string>()) {
      Py_XDECREF(std::exchange(*elements, PyText(text).release().ptr()));
      ++elements;
    }
    return array;
  }
  if (!tensor.memory().host_accessible)
    throw Error(ErrorCode::kInvalidArgument,
                "the tensor lies in " + std::string(tensor.memory().name) + " memory; bind the output to the processor's");
  PyArray_Descr* dtype = DtypeOf(tensor.type());
  if (BitWidth(tensor.type()) < 8) tensor = Unpacked(tensor);
  void* data = tensor.mutable_raw();
  const int flags = IsReadOnly(tensor) ? NPY_ARRAY_CARRAY_RO : NPY_ARRAY_CARRAY;
  auto* held = new Tensor(std::move(tensor));
  const nb::capsule base(held, [](void* kept) noexcept { delete static_cast<Tensor*>(kept); });
  if (data == nullptr)  // of no elements
    return Checked(PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(rank), dims, nullptr, nullptr, 0, nullptr));
  nb::object array =
      Checked(PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(rank), dims, nullptr, data, flags, nullptr));
  if (PyArray_SetBaseObject(ArrayIn(array), nb::object(base).release().ptr()) < 0) nb::raise_python_error();
  return array;
}

/// Numbers and texts of maps are Python's own.
nb::object ScalarOf(const Value& value) {
  nb::object array = ToPython(value);
  return value.is_tensor() && value.tensor().num_elements() == 1 ? nb::object(array.attr("item")()) : array;
}

nb::object DictOf(const Map& map) {
  nb::dict dict;
  const nb::object keys = ArrayOver(map.keys).attr("tolist")();
  for (size_t i = 0; i < map.size(); ++i) dict[keys[i]] = ScalarOf(map.at(i));
  return dict;
}

}  // namespace

Value Borrow(nb::handle object, const TypeInfo& declared, nb::object& keep) {
  LoadNumpy();
  if (PyArray_Check(object.ptr())) [[likely]] {
    keep = nb::borrow(object);
    return ViewOf(keep);
  }
  if (const Value* value = ValueIn(object)) return *value;
  if (object.is_none()) {
    if (declared.kind != ValueKind::kTensor) return {};
    throw Error(ErrorCode::kInvalidArgument, "None is given for an input that is a tensor");
  }
  if (declared.kind == ValueKind::kOptional) return Borrow(object, *declared.inner, keep);
  if (declared.kind == ValueKind::kMap && IsMapping(object)) return MapFrom(object, declared);
  if (declared.kind == ValueKind::kSequence) return SequenceFrom(object, declared);
  if (nb::hasattr(object, "__dlpack__") && !nb::hasattr(object, "__array_interface__"))
    return FromDlpack(object, declared.element == ElementType::kBool);
  keep = ArrayFrom(object, declared.element);
  return ViewOf(keep);
}

Value Take(nb::handle object, const TypeInfo& declared) {
  nb::object keep;
  Value value = Borrow(object, declared, keep);
  const Tensor* view = value.tensor_if();
  if (!keep.is_valid() || view == nullptr || view->owner() != nullptr) return value;
  return Tensor::Share(view->type(), view->shape(), const_cast<void*>(view->raw()), OwnerOfArray(std::move(keep)),
                       view->memory());
}

bool IsReadOnly(const Tensor& tensor) noexcept { return std::get_deleter<ReadOnlyRelease>(tensor.owner()) != nullptr; }

void RequireWritable(const Value& value) {
  const Tensor* tensor = value.tensor_if();
  if (tensor != nullptr && IsReadOnly(*tensor))
    throw Error(ErrorCode::kInvalidArgument, "the value looks at an array that is read-only: give a copy of the array");
}

Tensor TensorOver(nb::object array, ElementType type) {
  LoadNumpy();
  if (!PyArray_Check(array.ptr())) throw nb::type_error("expected a numpy array");
  array = Checked(PyArray_FROM_OF(array.ptr(), NPY_ARRAY_CARRAY_RO));
  PyArrayObject* given = ArrayIn(array);
  const size_t size = ByteSize(type, ShapeOf(given).num_elements());
  if (type == ElementType::kString || size != static_cast<size_t>(PyArray_NBYTES(given)))
    throw Error(ErrorCode::kInvalidArgument,
                "the array's elements are not of the size of " + std::string(ElementTypeName(type)));
  const Shape shape = ShapeOf(given);
  void* data = PyArray_DATA(given);
  return Tensor::Share(type, shape, data, OwnerOfArray(std::move(array)));
}

nb::object ToPython(Value value) {
  switch (value.kind()) {
    case ValueKind::kTensor: return ArrayOver(std::move(value.tensor()));
    case ValueKind::kSequence: {
      nb::list list;
      for (const Value& element : value.sequence().elements) list.append(ToPython(element));
      return list;
    }
    case ValueKind::kMap: return DictOf(value.map());
    case ValueKind::kSparseTensor: return SparseObject(std::move(value));
    default: return nb::none();
  }
}

ElementType ElementTypeFrom(nb::handle dtype) {
  if (PyLong_Check(dtype.ptr())) return static_cast<ElementType>(nb::cast<int>(dtype));
  LoadNumpy();
  if (PyUnicode_Check(dtype.ptr())) {
    const ElementType named = ElementTypeFromName(TextOf(dtype.ptr()));
    if (named != ElementType::kUndefined) return named;
  }
  PyArray_Descr* converted = nullptr;
  if (PyArray_DescrConverter(dtype.ptr(), &converted) == NPY_FAIL) nb::raise_python_error();
  const nb::object held = nb::steal(reinterpret_cast<PyObject*>(converted));
  const ElementType type = TypeOf(converted);
  if (type == ElementType::kUndefined)
    throw Error(ErrorCode::kInvalidArgument, "no tensor has elements of " + TextOf(dtype.ptr()));
  return type;
}

}  // namespace tessera::python
