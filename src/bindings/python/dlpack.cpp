// Tensors from and to other libraries, by the DLPack protocol.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/rank.h"
#include "bindings/python/interpreter.h"
#include "bindings/python/ort_value.h"

namespace tessera::python {
namespace {

// As the protocol lays them out, version 0 (capsule "dltensor").
struct DlDevice {
  int32_t type, id;
};
struct DlType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t rank;
  DlType type;
  int64_t* shape;
  int64_t* strides;
  uint64_t offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor*);
};

constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kOpenCl = 4;
enum DlCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBFloat = 4,
  kComplex = 5,
  kBool = 6,
  kE4M3FN = 10,
  kE4M3FNUZ = 11,
  kE5M2 = 12,
  kE5M2FNUZ = 13,
  kE8M0 = 14
};

struct Row {
  ElementType type;
  DlCode code;
  uint8_t bits;
};
constexpr Row kRows[] = {
    {ElementType::kFloat, kFloat, 32},
    {ElementType::kDouble, kFloat, 64},
    {ElementType::kFloat16, kFloat, 16},
    {ElementType::kBFloat16, kBFloat, 16},
    {ElementType::kInt8, kInt, 8},
    {ElementType::kInt16, kInt, 16},
    {ElementType::kInt32, kInt, 32},
    {ElementType::kInt64, kInt, 64},
    {ElementType::kUInt8, kUInt, 8},
    {ElementType::kUInt16, kUInt, 16},
    {ElementType::kUInt32, kUInt, 32},
    {ElementType::kUInt64, kUInt, 64},
    {ElementType::kBool, kBool, 8},
    {ElementType::kComplex64, kComplex, 64},
    {ElementType::kComplex128, kComplex, 128},
    {ElementType::kFloat8E4M3FN, kE4M3FN, 8},
    {ElementType::kFloat8E4M3FNUZ, kE4M3FNUZ, 8},
    {ElementType::kFloat8E5M2, kE5M2, 8},
    {ElementType::kFloat8E5M2FNUZ, kE5M2FNUZ, 8},
    {ElementType::kFloat8E8M0, kE8M0, 8},
};

DlType TypeOf(ElementType type) {
  for (const Row& row : kRows)
    if (row.type == type) return {row.code, row.bits, 1};
  throw Error(ErrorCode::kInvalidArgument, "DLPack has no elements of type " + std::string(ElementTypeName(type)));
}

ElementType ElementOf(DlType type) {
  if (type.lanes == 1)
    for (const Row& row : kRows)
      if (row.code == type.code && row.bits == type.bits) return row.type;
  throw Error(ErrorCode::kInvalidArgument, "no tensor has elements of DLPack's type " + std::to_string(type.code) +
                                               " with " + std::to_string(type.bits) + " bits and " +
                                               std::to_string(type.lanes) + " lanes");
}

/// What a capsule of ours owns.
struct Exported {
  DlManagedTensor managed;
  Tensor tensor;
  std::vector<int64_t> strides;
};

void EndCapsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;  // somebody took the tensor
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

/// What the other library says must hold together: it is read without further doubt. Returns the number of elements.
int64_t RequireSound(const DlTensor& tensor) {
  const auto require = [](bool holds, const std::string& text) {
    if (!holds) throw Error(ErrorCode::kInvalidArgument, "the capsule's tensor " + text);
  };
  require(tensor.rank >= 0 && static_cast<size_t>(tensor.rank) <= kMostRank,
          "has " + std::to_string(tensor.rank) + " dimensions, expected 0 to " + std::to_string(kMostRank));
  require(tensor.rank == 0 || tensor.shape != nullptr, "has dimensions and no shape");
  const std::span<const int64_t> dims(tensor.shape, static_cast<size_t>(tensor.rank));
  int64_t elements = 1;
  bool fits = true;
  for (const int64_t dim : dims) {
    require(dim >= 0, "has a dimension of " + std::to_string(dim));
    if (dim != 0) fits &= !__builtin_mul_overflow(elements, dim, &elements);
  }
  require(fits, "has more elements than memory, dimensions of 0 aside");
  if (std::ranges::find(dims, 0) != dims.end()) return 0;
  require(tensor.data != nullptr, "has elements and no memory");
  uintptr_t first = 0, end = 0;
  const bool reached = !__builtin_add_overflow(reinterpret_cast<uintptr_t>(tensor.data), tensor.offset, &first) &&
                       !__builtin_mul_overflow(static_cast<uintptr_t>(elements), (tensor.type.bits + 7) / 8, &end) &&
                       !__builtin_add_overflow(first, end, &end);
  require(reached, "reaches beyond the memory's end");
  return elements;
}

/// Of a tensor that is sound.
bool IsContiguous(const DlTensor& tensor, int64_t elements) noexcept {
  if (tensor.strides == nullptr || elements == 0) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.rank; i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

}  // namespace

std::pair<int, int> DlpackDevice(const Tensor& tensor) {
  const MemoryInfo& memory = tensor.memory();
  return {memory.host_accessible ? kCpu : kOpenCl, memory.host_accessible ? 0 : memory.device_id};
}

nb::object ToDlpack(const Tensor& tensor) {
  auto exported = std::make_unique<Exported>();
  exported->tensor = IsReadOnly(tensor) ? tensor.Clone() : tensor;
  Tensor& held = exported->tensor;
  DlTensor& out = exported->managed.tensor;
  const auto rank = held.shape().rank();
  exported->strides.assign(rank, 1);
  for (size_t i = rank; i-- > 1;) exported->strides[i - 1] = exported->strides[i] * held.shape()[i];
  const auto [device, id] = DlpackDevice(held);
  out = {.data = held.mutable_raw(),
         .device = {device, id},
         .rank = static_cast<int32_t>(rank),
         .type = TypeOf(held.type()),
         .shape = held.shape().num_elements() >= 0 ? const_cast<int64_t*>(held.shape().data()) : nullptr,
         .strides = exported->strides.data(),
         .offset = 0};
  exported->managed.context = exported.get();
  exported->managed.deleter = [](DlManagedTensor* self) { delete static_cast<Exported*>(self->context); };
  Exported* const given = exported.release();  // to the capsule
  PyObject* capsule = PyCapsule_New(&given->managed, "dltensor", EndCapsule);
  if (capsule == nullptr) {
    delete given;
    nb::raise_python_error();
  }
  return nb::steal(capsule);
}

Value FromDlpack(nb::handle object, bool is_bool) {
  const nb::object capsule =
      PyCapsule_CheckExact(object.ptr()) ? nb::borrow(object) : nb::object(object.attr("__dlpack__")());
  const Exclusive taken(capsule);  // once only
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0)
    throw nb::value_error("the capsule holds no tensor that could be taken; ask for a new one with __dlpack__()");
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  const DlTensor& given = managed->tensor;
  if (given.device.type != kCpu && given.device.type != kCudaHost)
    throw Error(ErrorCode::kInvalidArgument, "the tensor lies on DLPack's device " + std::to_string(given.device.type) +
                                                 ", and not in the processor's memory: copy it there");
  if (!IsContiguous(given, RequireSound(given)))
    throw Error(ErrorCode::kInvalidArgument, "the tensor's elements are not contiguous: make them so before it is given");
  ElementType type = ElementOf(given.type);
  if (is_bool && type == ElementType::kUInt8) type = ElementType::kBool;
  const Shape shape(std::span<const int64_t>(given.shape, static_cast<size_t>(given.rank)));
  void* data = shape.num_elements() == 0 ? given.data : static_cast<std::byte*>(given.data) + given.offset;
  // From here on the tensor is ours to end. Its deleter may need the interpreter, as torch's does.
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  std::shared_ptr<void> owner(managed, [](void* held) {
    auto* ours = static_cast<DlManagedTensor*>(held);
    if (ours->deleter == nullptr || !InterpreterRuns()) return;
    const Inside inside;
    ours->deleter(ours);
  });
  return Tensor::Share(type, shape, data, std::move(owner));
}

}  // namespace tessera::python
