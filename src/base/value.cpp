#include "tessera/value.h"

#include <atomic>
#include <cstddef>
#include <mutex>

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "base/mapped_file.h"
#include "base/string_memory.h"
#include "base/symbolic_shape.h"
#include "base/weight_memory.h"

namespace tessera {
namespace {

/// Owner of a tensor's bytes that lie at any address, and of the aligned copy once somebody needs one.
struct UnalignedBytes {
  std::shared_ptr<const void> owner;
  std::atomic<const void*> aligned{nullptr};
  std::mutex mutex;
  Tensor copy;
};

constexpr std::string_view KindName(ValueKind kind) {
  constexpr std::string_view names[] = {"nothing", "a tensor", "a sequence", "a map", "a sparse tensor", "an optional"};
  return names[static_cast<size_t>(kind)];
}

template <class T>
const T& GetKind(const T* held, ValueKind have, ValueKind want) {
  if (held == nullptr) {
    Fail(ErrorCode::kInvalidArgument, "the value holds {}, not {}", KindName(have), KindName(want));
  }
  return *held;
}

/// Of tensors of one type.
void CopyElement(const Tensor& from, int64_t source, Tensor& to, int64_t target) {
  const auto bits = static_cast<size_t>(BitWidth(from.type()));
  const auto at = static_cast<size_t>(source), place = static_cast<size_t>(target);
  if (from.is(ElementType::kString)) {
    to.mutable_data<std::string>()[place] = from.data<std::string>()[at];
  } else if (bits >= 8) {
    std::memcpy(static_cast<std::byte*>(to.mutable_raw()) + place * (bits / 8),
                static_cast<const std::byte*>(from.raw()) + at * (bits / 8), bits / 8);
  } else {
    const unsigned mask = (1u << bits) - 1, shift = static_cast<unsigned>(place * bits % 8);
    const unsigned code = (from.data<uint8_t>()[at * bits / 8] >> (at * bits % 8)) & mask;
    uint8_t& byte = to.mutable_data<uint8_t>()[place * bits / 8];
    byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (code << shift));
  }
}

}  // namespace

Tensor::Tensor(ElementType type, const Shape& shape, void* data, std::shared_ptr<void> owner, const MemoryInfo& memory)
    : type_(type),
      shape_(shape),
      num_elements_(shape.num_elements()),
      byte_size_(ByteSize(type, num_elements_)),
      data_(data),
      owner_(std::move(owner)),
      memory_(memory) {}

Tensor::Tensor(ElementType type, const Shape& shape, Allocator& allocator)
    : Tensor(type, shape, nullptr, nullptr, allocator.memory()) {
  Require(BitWidth(type) != 0, "a tensor cannot have element type {}", ElementTypeName(type));
  if (type == ElementType::kString) {
    owner_ = MakeStrings(allocator, static_cast<size_t>(num_elements_), data_);
    return;
  }
  // Zero-size tensors own a byte, so that data() is never null for a defined tensor.
  data_ = allocator.Allocate(std::max<size_t>(byte_size_, 1));
  owner_ = std::shared_ptr<void>(data_, [&allocator](void* buffer) { allocator.Free(buffer); });
}

Tensor Tensor::View(ElementType type, const Shape& shape, void* data, const MemoryInfo& memory) {
  return Share(type, shape, data, nullptr, memory);
}

Tensor Tensor::Share(ElementType type, const Shape& shape, void* data, std::shared_ptr<void> owner,
                     const MemoryInfo& memory) {
  if (BitWidth(type) == 0) [[unlikely]]
    Fail(ErrorCode::kInvalidArgument, "a tensor cannot have element type {}", ElementTypeName(type));
  Tensor tensor(type, shape, data, std::move(owner), memory);
  Require(data != nullptr || tensor.byte_size_ == 0, "a tensor of shape {} needs {} bytes, but its memory is null", shape,
          tensor.byte_size_);
  return tensor;
}

Tensor Tensor::ShareUnaligned(ElementType type, const Shape& shape, const void* data, std::shared_ptr<const void> owner) {
  auto bytes = std::make_shared<UnalignedBytes>();
  bytes->owner = std::move(owner);
  Tensor tensor = Share(type, shape, const_cast<void*>(data), std::move(bytes));
  tensor.unaligned_ = true;
  return tensor;
}

void Tensor::ThrowElementType(ElementType asked) const {
  Fail(ErrorCode::kInvalidArgument, "elements of type {} are asked for, the tensor has {}", ElementTypeName(asked),
       ElementTypeName(type_));
}

void Tensor::ThrowElementCount(size_t given) const {
  if (BitWidth(type_) < 8)
    Fail(ErrorCode::kInvalidArgument, "elements of type {} are packed: give their bytes", ElementTypeName(type_));
  Fail(ErrorCode::kInvalidArgument, "shape {} does not hold {} elements", shape_, given);
}

const void* Tensor::AlignedRaw() const {
  auto& bytes = *static_cast<UnalignedBytes*>(owner_.get());
  if (const void* aligned = bytes.aligned.load(std::memory_order_acquire)) return aligned;
  const std::lock_guard lock(bytes.mutex);
  if (!bytes.copy.defined()) {
    bytes.copy = Clone(WeightMemory());
    ForgetPages(data_, byte_size_);
    bytes.aligned.store(bytes.copy.data_, std::memory_order_release);
  }
  return bytes.copy.data_;
}

Tensor Tensor::Reshaped(const Shape& shape) const {
  Require(shape.num_elements() == num_elements_, "cannot view a tensor of shape {} as {}", shape_, shape);
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::Clone(Allocator& allocator) const {
  Require(memory_.host_accessible, "a tensor in {} memory cannot be cloned by the host", memory_.name);
  Tensor copy(type_, shape_, allocator);
  if (type_ == ElementType::kString) {
    CopyStrings(values<std::string>(), copy, 0, allocator);
  } else if (byte_size_ > 0) {
    CopyBytesCancellably(copy.data_, data_, byte_size_);
  }
  return copy;
}

Tensor SparseTensor::ToDense() const {
  Tensor dense(values.type(), dense_shape);
  const int64_t nnz = values.num_elements();
  const size_t rank = dense_shape.rank();
  const int64_t total = dense.num_elements();
  const bool linear = indices.shape().rank() == 1;
  const Shape expected = linear ? Shape{nnz} : Shape{nnz, static_cast<int64_t>(rank)};
  Require(indices.is(ElementType::kInt64) && indices.shape() == expected,
          "sparse tensor: indices are {} {}, expected int64 [{}] or [{},{}]", ElementTypeName(indices.type()),
          indices.shape(), nnz, nnz, rank);
  if (!values.is(ElementType::kString)) std::memset(dense.mutable_raw(), 0, dense.byte_size());
  for (int64_t i = 0; i < nnz; ++i) {
    int64_t offset = 0;
    if (linear) {
      offset = indices.data<int64_t>()[i];
    } else {
      for (size_t axis = 0; axis < rank; ++axis) {
        const int64_t index = indices.data<int64_t>()[i * static_cast<int64_t>(rank) + static_cast<int64_t>(axis)];
        Require(index >= 0 && index < dense_shape[axis], "sparse tensor: index {} is outside dimension {} of {}", index,
                axis, dense_shape);
        offset = offset * dense_shape[axis] + index;
      }
    }
    Require(offset >= 0 && offset < total, "sparse tensor: index {} is outside {}", offset, dense_shape);
    CopyElement(values, i, dense, offset);
  }
  return dense;
}

const Tensor& Value::tensor() const { return GetKind(tensor_if(), kind(), ValueKind::kTensor); }
Tensor& Value::tensor() { return const_cast<Tensor&>(std::as_const(*this).tensor()); }

const Sequence& Value::sequence() const {
  const auto* held = std::get_if<std::shared_ptr<const Sequence>>(&data_);
  return GetKind(held ? held->get() : nullptr, kind(), ValueKind::kSequence);
}
Sequence* Value::unshared_sequence() noexcept {
  auto* held = std::get_if<std::shared_ptr<const Sequence>>(&data_);
  if (held == nullptr || held->use_count() != 1) return nullptr;
  std::atomic_thread_fence(std::memory_order_acquire);  // after what the last other owner did
  return const_cast<Sequence*>(held->get());            // made as a Sequence by the constructor
}
const Map& Value::map() const {
  const auto* held = std::get_if<std::shared_ptr<const Map>>(&data_);
  return GetKind(held ? held->get() : nullptr, kind(), ValueKind::kMap);
}
const SparseTensor& Value::sparse_tensor() const {
  const auto* held = std::get_if<std::shared_ptr<const SparseTensor>>(&data_);
  return GetKind(held ? held->get() : nullptr, kind(), ValueKind::kSparseTensor);
}

Value Map::at(size_t i) const {
  if (!scalars.defined()) return values[i];
  const size_t bytes = ByteSize(scalars.type(), 1);
  void* element = const_cast<std::byte*>(static_cast<const std::byte*>(scalars.raw())) + i * bytes;
  return Tensor::Share(scalars.type(), Shape{}, element, scalars.owner(), scalars.memory());
}

TypeInfo Value::type() const {
  TypeInfo info;
  info.kind = kind();
  switch (kind()) {
    case ValueKind::kTensor:
      info.element = tensor().type();
      info.shape = ToSymbolic(tensor().shape());
      break;
    case ValueKind::kSparseTensor:
      info.element = sparse_tensor().values.type();
      info.shape = ToSymbolic(sparse_tensor().dense_shape);
      break;
    case ValueKind::kSequence: info.inner = std::make_shared<TypeInfo>(sequence().element_type); break;
    case ValueKind::kMap:
      info.element = map().keys.type();
      info.inner = std::make_shared<TypeInfo>(map().value_type);
      break;
    case ValueKind::kNone:
    case ValueKind::kOptional: break;
  }
  return info;
}

std::string TypeInfo::ToString() const {
  const std::string inside = inner ? inner->ToString() : "?";
  switch (kind) {
    case ValueKind::kTensor: return fmt::format("tensor({})", ElementTypeName(element));
    case ValueKind::kSparseTensor: return fmt::format("sparse_tensor({})", ElementTypeName(element));
    case ValueKind::kSequence: return fmt::format("seq({})", inside);
    case ValueKind::kMap: return fmt::format("map({},{})", ElementTypeName(element), inside);
    case ValueKind::kOptional: return fmt::format("optional({})", inside);
    case ValueKind::kNone: break;
  }
  return "unknown";
}

}  // namespace tessera
