// OrtValue and vectors of them.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "bindings/python/arrays.h"
#include "bindings/python/device.h"
#include "bindings/python/interpreter.h"
#include "bindings/python/ort_value.h"
#include "bindings/python/runtime.h"
#include "bindings/python/sessions.h"

namespace tessera::python {
namespace {

const Tensor& TensorIn(const HeldValue& held) { return held.value.tensor(); }

/// A device's name, or the device itself.
Device DeviceFrom(nb::handle device, int id, int vendor) {
  if (nb::isinstance<Device>(device)) return nb::cast<Device>(device);
  return DeviceNamed(nb::cast<std::string_view>(device), id, vendor);
}

HeldValue FromNumpy(nb::object array, nb::handle device, int id, int vendor) {
  const Device wanted = DeviceFrom(device, id, vendor);
  if (MemoryOf(wanted) != MemoryInfo())
    throw Error(ErrorCode::kInvalidArgument, "arrays lie in the processor's memory; bind them to a session of the device");
  if (!nb::hasattr(array, "__array_interface__"))
    throw std::runtime_error("a value is made from a numpy array; numpy.asarray makes one of other objects");
  return HeldValue(Take(array, TypeInfo::OfTensor(ElementType::kUndefined)));
}

/// A tensor in memory that the environment has an allocator for: a provider's of a library, or the processor's.
HeldValue FromMemory(const std::vector<int64_t>& shape, nb::handle type, const NamedMemory& memory) {
  const ElementType element = ElementTypeFrom(type);
  if (memory.info.device == OrtMemoryInfoDeviceType_CPU) return HeldValue(Tensor(element, Shape(shape)));
  OrtAllocator* allocator = nullptr;
  CheckCall(Api().GetSharedAllocator(&Env(), &memory.info, &allocator));
  if (allocator == nullptr)
    throw std::runtime_error("nobody shares an allocator for " + std::string(memory.info.name) + " memory");
  OrtValue* made = nullptr;
  CheckCall(Api().CreateTensorAsOrtValue(allocator, shape.data(), shape.size(),
                                         static_cast<ONNXTensorElementDataType>(element), &made));
  HeldValue held(std::move(static_cast<Value&>(*made)));
  Api().ReleaseValue(made);
  return held;
}

/// `memory_info`: in place of the device, or None.
HeldValue FromShape(const std::vector<int64_t>& shape, nb::handle type, nb::handle device, int id, int vendor,
                    nb::handle memory_info) {
  if (!memory_info.is_none()) {
    const NamedMemory* memory = nullptr;
    if (!nb::try_cast(memory_info, memory, false)) throw nb::type_error("memory_info is an OrtMemoryInfo, or None");
    return FromMemory(shape, type, *memory);
  }
  if (MemoryOf(DeviceFrom(device, id, vendor)) != MemoryInfo())
    throw Error(ErrorCode::kInvalidArgument, "memory of devices belongs to sessions; bind the output to the device");
  return HeldValue(Tensor(ElementTypeFrom(type), Shape(shape)));
}

void CopyInto(HeldValue& held, nb::handle from) {
  RequireWritable(held.value);
  nb::object keep;
  const Value value = Borrow(from, held.value.type(), keep);
  const Tensor& source = value.tensor();
  Tensor& target = held.value.tensor();
  if (source.type() != target.type() || source.shape() != target.shape())
    throw Error(ErrorCode::kInvalidArgument,
                "the value is " + target.shape().ToString() + " of " + std::string(ElementTypeName(target.type())) +
                    ", given are " + source.shape().ToString() + " of " + std::string(ElementTypeName(source.type())));
  if (target.is(ElementType::kString)) {
    const auto texts = source.values<std::string>();
    std::ranges::copy(texts, target.mutable_data<std::string>());
  } else if (target.byte_size() > 0) {
    std::memmove(target.mutable_raw(), source.raw(), target.byte_size());  // arrays may overlap
  }
}

nb::list ShapeList(const Shape& shape) {
  nb::list dims;
  for (const int64_t dim : shape) dims.append(dim);
  return dims;
}

nb::list ShapeOfValue(const HeldValue& held) {
  if (held.value.kind() == ValueKind::kSparseTensor) return ShapeList(held.value.sparse_tensor().dense_shape);
  return ShapeList(TensorIn(held).shape());
}

std::string DataType(const HeldValue& held) {
  TypeInfo type = held.value.type();
  type.shape.reset();
  return type.ToString();
}

bool IsSequenceOfTensors(const HeldValue& held) {
  return held.value.kind() == ValueKind::kSequence && held.value.sequence().element_type.is_tensor();
}

nb::object NumpyOf(const HeldValue& held, nb::handle dtype, nb::handle copy) {
  nb::object array = ToPython(held.value);
  if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
  if (!copy.is_none() && nb::cast<bool>(copy)) array = array.attr("copy")();
  return array;
}

using ValueClass = nb::class_<HeldValue>;

void BindMakers(ValueClass& value) {
  // Programs wrap what they are given: (value, array), where the array only has to live as long.
  value.def(
      "__init__", [](HeldValue* self, const HeldValue& other, nb::handle, nb::handle) { new (self) HeldValue(other); },
      nb::arg("ortvalue"), nb::arg("numpy_obj") = nb::none(), nb::arg("session") = nb::none());
  value.def_static("ortvalue_from_numpy", &FromNumpy, nb::arg("numpy_obj"), nb::arg("device_type") = "cpu",
                   nb::arg("device_id") = 0, nb::arg("vendor_id") = -1,
                   "A value over the array's own memory, which it keeps; an array that does not lie as tensors do, or of "
                   "strings, is copied.");
  value.def_static(
      "ortvalue_from_numpy_with_onnx_type",
      [](nb::object array, int type) { return HeldValue(TensorOver(std::move(array), static_cast<ElementType>(type))); },
      nb::arg("data"), nb::arg("onnx_element_type"),
      "A value over the array's bytes, taken for elements of TensorProto's type: uint16 as bfloat16.");
  value.def_static("ortvalue_from_shape_and_type", &FromShape, nb::arg("shape"), nb::arg("element_type"),
                   nb::arg("device_type") = "cpu", nb::arg("device_id") = 0, nb::arg("vendor_id") = -1,
                   nb::arg("memory_info").none() = nb::none(), "A new tensor, whose elements are not set.");
  value.def_static("ortvalue_from_shape_and_onnx_type", &FromShape, nb::arg("shape"), nb::arg("element_type"),
                   nb::arg("device_type") = "cpu", nb::arg("device_id") = 0, nb::arg("vendor_id") = -1,
                   nb::arg("memory_info").none() = nb::none());
  for (const char* name :
       {"ortvalue_from_shape_and_type_for_memory_info", "ortvalue_from_shape_and_onnx_type_for_memory_info"})
    value.def_static(name, &FromMemory, nb::arg("shape"), nb::arg("element_type"), nb::arg("memory_info"));
  value.def_static(
      "ort_value_from_sparse_tensor",
      [](nb::handle sparse) {
        const Value* inside = ValueIn(sparse);
        if (inside == nullptr) throw nb::type_error("expected a SparseTensor");
        return HeldValue(*inside);
      },
      nb::arg("sparse_tensor"));
  value.def_static(
      "from_dlpack", [](nb::handle data, bool is_bool) { return HeldValue(FromDlpack(data, is_bool)); }, nb::arg("data"),
      nb::arg("is_bool_tensor") = false, "A value over another library's tensor, such as torch's.");
}

void BindFacts(ValueClass& value) {
  value.def(
      "device_name",
      [](const HeldValue& held) {
        return std::string(NameOf(held.value.is_tensor() ? TensorIn(held).memory() : MemoryInfo()));
      },
      "\"cpu\" or the name of another device's memory.");
  value.def("shape", &ShapeOfValue, "The dimensions.");
  value.def("data_type", &DataType, "\"tensor(float)\" and the like.");
  value.def(
      "element_type",
      [](const HeldValue& held) {
        return static_cast<int>(held.value.kind() == ValueKind::kSparseTensor ? held.value.sparse_tensor().values.type()
                                                                              : TensorIn(held).type());
      },
      "The type of the elements, by TensorProto's number.");
  value.def("tensor_size_in_bytes", [](const HeldValue& held) { return TensorIn(held).byte_size(); });
  value.def("has_value", [](const HeldValue& held) { return !held.value.is_none(); }, "False for an empty optional.");
  value.def("is_tensor", [](const HeldValue& held) { return held.value.is_tensor(); });
  value.def("is_sparse_tensor", [](const HeldValue& held) { return held.value.kind() == ValueKind::kSparseTensor; });
  value.def("is_tensor_sequence", &IsSequenceOfTensors);
  value.def("_is_webgpu_buffer", [](const HeldValue&) { return false; });
}

void BindElements(ValueClass& value) {
  value.def(
      "data_ptr", [](const HeldValue& held) { return reinterpret_cast<uintptr_t>(TensorIn(held).raw()); },
      "Address of the first element.");
  value.def("as_sparse_tensor", [](const HeldValue& held) {
    held.value.sparse_tensor();  // or an error
    return SparseObject(held.value);
  });
  value.def("_get_c_value", [](nb::object self) { return self; });
  value.def_prop_ro("_ortvalue", [](nb::object self) { return self; });
  value.def(
      "numpy", [](const HeldValue& held) { return NumpyOf(held, nb::none(), nb::none()); },
      "An array over the value's own memory; read-only where that is of an array that was.");
  value.def("__array__", &NumpyOf, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none());
  value.def("update_inplace", &CopyInto, nb::arg("data"), nb::lock_self(),
            "Copies an array's or value's elements into this one's memory.");
  value.def(
      "__dlpack__", [](const HeldValue& held, const nb::kwargs&) { return ToDlpack(TensorIn(held)); },
      "A capsule for from_dlpack of other libraries, which share the memory.");
  value.def("to_dlpack", [](const HeldValue& held) { return ToDlpack(TensorIn(held)); });
  value.def("__dlpack_device__", [](const HeldValue& held) { return DlpackDevice(TensorIn(held)); });
}

void BindValue(nb::module_& module) {
  ValueClass value(module, "OrtValue",
                   "A value of a model: a tensor, sequence, map or sparse tensor. Copies share what is inside.");
  BindMakers(value);
  BindFacts(value);
  BindElements(value);
}

/// Tensors by their addresses, as torch has them; each value keeps the tensor that it looks at.
void PushBatch(HeldValues& self, const nb::sequence& tensors, const std::vector<uintptr_t>& addresses,
               const nb::sequence& types, const std::vector<std::vector<int64_t>>& shapes,
               const std::vector<Device>& devices) {
  const size_t count = addresses.size();
  if (nb::len(tensors) != count || nb::len(types) != count || shapes.size() != count || devices.size() != count)
    throw nb::value_error("there must be as many tensors, addresses, element types, shapes and devices");
  std::vector<HeldValue> batch;
  batch.reserve(count);
  for (size_t i = 0; i < count; ++i)
    batch.emplace_back(Tensor::Share(ElementTypeFrom(types[i]), Shape(shapes[i]), reinterpret_cast<void*>(addresses[i]),
                                     Owner(tensors[i]), MemoryOf(devices[i])));
  std::ranges::move(batch, std::back_inserter(self.all));
}

void BindVector(nb::module_& module) {
  Locked<HeldValues> vector(module, "OrtValueVector", "Values in a row.");
  vector.def(nb::init<>());
  vector.def("push_back", [](HeldValues& self, const HeldValue& value) { self.all.push_back(value); });
  vector.def(
      "push_back",
      [](HeldValues& self, nb::handle tensor, bool is_bool) { self.all.emplace_back(FromDlpack(tensor, is_bool)); },
      nb::arg("dlpack_tensor"), nb::arg("is_bool_tensor") = false);
  vector.def("push_back_batch", &PushBatch, nb::arg("torch_tensors"), nb::arg("data_ptrs"), nb::arg("element_types"),
             nb::arg("shapes"), nb::arg("devices"), "Values that look at tensors by their addresses.");
  vector.def("reserve", [](HeldValues& self, size_t count) { self.all.reserve(count); });
  vector.def("shrink_to_fit", [](HeldValues& self) { self.all.shrink_to_fit(); });
  vector.def("__len__", [](const HeldValues& self) { return self.all.size(); });
  vector.def("__getitem__", [](const HeldValues& self, int64_t i) {
    if (i < 0) i += static_cast<int64_t>(self.all.size());
    if (i < 0 || i >= static_cast<int64_t>(self.all.size())) throw nb::index_error();
    return self.all[static_cast<size_t>(i)];
  });
  vector.def("__iter__", [](const HeldValues& self) {
    nb::list all;
    for (const HeldValue& value : self.all) all.append(nb::cast(value));
    return nb::iter(all);
  });
  vector.def("dlpack_at", [](const HeldValues& self, size_t i) { return ToDlpack(TensorIn(self.all.at(i))); });
  vector.def(
      "element_type_at", [](const HeldValues& self, size_t i) { return static_cast<int>(TensorIn(self.all.at(i)).type()); },
      nb::arg("idx"));
  vector.def("bool_tensor_indices", [](const HeldValues& self) {
    std::vector<size_t> found;
    for (size_t i = 0; i < self.all.size(); ++i)
      if (TensorIn(self.all[i]).is(ElementType::kBool)) found.push_back(i);
    return found;
  });
  vector.def(
      "to_dlpacks",
      [](const HeldValues& self, nb::handle to_tensor) {
        nb::list all;
        for (const HeldValue& value : self.all) {
          nb::object capsule = ToDlpack(TensorIn(value));
          all.append(to_tensor.is_none() ? capsule : nb::object(to_tensor(capsule)));
        }
        return all;
      },
      nb::arg("to_tensor") = nb::none());
}

void CopyTensors(const std::vector<HeldValue>& from, const std::vector<HeldValue>& to, nb::handle stream) {
  if (from.size() != to.size()) throw std::runtime_error("there must be as many values to copy to as to copy from");
  const DeviceStream* on = nullptr;
  if (!stream.is_none() && !nb::try_cast(stream, on, false))
    throw nb::type_error("the stream is an OrtSyncStream, or None");
  for (const HeldValue& value : to) RequireWritable(value.value);
  std::vector<HeldValue> targets = to;
  std::vector<const OrtValue*> sources;
  std::vector<OrtValue*> pointers;
  sources.reserve(from.size());
  pointers.reserve(targets.size());
  for (const HeldValue& value : from) sources.push_back(&value.value);
  for (HeldValue& value : targets) pointers.push_back(&value.value);
  OrtEnv& env = Env();
  OrtStatus* status = nullptr;
  {
    const Unlocked unlocked;
    status = Api().CopyTensors(&env, sources.data(), pointers.data(), on == nullptr ? nullptr : on->stream.get(),
                               sources.size());
  }
  CheckCall(status);
}

}  // namespace

void BindValues(nb::module_& module) {
  BindValue(module);
  BindVector(module);
  module.def("copy_tensors", &CopyTensors, nb::arg("src"), nb::arg("dst"), nb::arg("stream").none() = nb::none(),
             "Copies the elements of each value into the other's memory.");
  module.def("is_dlpack_uint8_tensor", [](nb::handle capsule) {
    const Value value = FromDlpack(capsule, false);
    return value.tensor().is(ElementType::kUInt8);
  });
}

}  // namespace tessera::python
