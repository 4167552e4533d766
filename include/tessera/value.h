#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/element_type.h"
#include "tessera/error.h"
#include "tessera/export.h"
#include "tessera/memory.h"
#include "tessera/numeric.h"
#include "tessera/shape.h"
#include "tessera/type_info.h"

namespace tessera {

/// A dense tensor: type, shape and a handle on a buffer. Copying copies the handle, never the elements. Elements are
/// contiguous in row-major order; 4- and 2-bit types are packed, first element in the low bits. A string tensor's buffer
/// is an array of std::string. Handles are values of their own, on any thread; who writes elements sees to it that nobody
/// else reads or writes that buffer meanwhile, a Run that takes or fills it included.
class TESSERA_API Tensor {
 public:
  Tensor() = default;

  /// A new tensor; elements are uninitialized (strings are empty). Throws Error on negative or overflowing shapes, and
  /// where memory runs out. `allocator` lives until the last copy is gone (those of sessions and HostAllocator() see to
  /// that).
  Tensor(ElementType type, const Shape& shape, Allocator& allocator = HostAllocator());

  /// Looks at `data`: ByteSize(type, elements) bytes, aligned as the type needs, which outlive every copy of the tensor and
  /// every session's run or IoBinding that has one. `memory` says where they lie; device pointers are those of
  /// Session::allocator(). Throws Error for null where there are elements, and on negative or overflowing shapes.
  static Tensor View(ElementType type, const Shape& shape, void* data, const MemoryInfo& memory = {});

  /// Looks at host memory, one T for each element. Throws Error where shape and number differ, and for packed types.
  template <class T>
    requires(ElementTypeOf<T> != ElementType::kUndefined)
  static Tensor View(const Shape& shape, std::span<T> elements) {
    Tensor tensor(ElementTypeOf<T>, shape, elements.data(), nullptr, MemoryInfo());
    tensor.RequireElements<T>(elements.size());
    return tensor;
  }

  /// Like View, and shares `owner`, which keeps `data` alive until the last copy is gone.
  static Tensor Share(ElementType type, const Shape& shape, void* data, std::shared_ptr<void> owner,
                      const MemoryInfo& memory = {});

  /// Looks at host bytes at any address, such as raw_data inside a mapped model, and shares `owner`. Whoever asks for the
  /// elements gets an aligned copy, made on first use for all copies of the tensor; unaligned_raw() shows the bytes in
  /// place.
  static Tensor ShareUnaligned(ElementType type, const Shape& shape, const void* data, std::shared_ptr<const void> owner);

  /// A new host tensor with a copy of `values`, one for each element. Throws Error where shape and number differ, and for
  /// packed types, whose bytes are written through mutable_values<uint8_t>().
  template <class T>
  static Tensor Of(const Shape& shape, std::span<const T> values) {
    Tensor tensor(ElementTypeOf<T>, shape);
    tensor.RequireElements<T>(values.size());
    std::copy(values.begin(), values.end(), tensor.mutable_data<T>());
    return tensor;
  }

  /// False for a default-constructed tensor.
  bool defined() const noexcept { return type_ != ElementType::kUndefined; }
  ElementType type() const noexcept { return type_; }
  const Shape& shape() const noexcept { return shape_; }
  int64_t num_elements() const noexcept { return num_elements_; }
  size_t byte_size() const noexcept { return byte_size_; }
  const MemoryInfo& memory() const noexcept { return memory_; }
  bool is(ElementType type) const noexcept { return type_ == type; }

  /// The buffer, in the terms of memory(): a device's is a handle that the host may not dereference. Null for an undefined
  /// tensor, and for views of no elements.
  const void* raw() const { return unaligned_ ? AlignedRaw() : data_; }
  void* mutable_raw() { return const_cast<void*>(raw()); }
  /// The bytes where they lie: for those who copy or pack them and name them, and need no alignment.
  const void* unaligned_raw() const noexcept { return data_; }

  /// The elements, as raw(). Throws Error(kInvalidArgument) where T is neither the C++ type of type() nor one byte, as
  /// which every type may be read (packed ones only so: uint8_t).
  template <class T>
  const T* data() const {
    RequireType<T>();
    return static_cast<const T*>(raw());
  }
  /// Like data(), but perhaps not aligned: only for reading with LoadUnaligned or unaligned vector loads.
  template <class T>
  const T* unaligned_data() const {
    RequireType<T>();
    return static_cast<const T*>(data_);
  }
  template <class T>
  T* mutable_data() {
    RequireType<T>();
    return static_cast<T*>(mutable_raw());
  }
  /// All elements. Of a type of one byte also the bytes of any tensor but one of strings, which is how packed types are
  /// read. Throws Error(kInvalidArgument) where T is neither the type of the elements nor one byte.
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), CountOf<T>()};
  }
  template <class T>
  std::span<T> mutable_values() {
    return {mutable_data<T>(), CountOf<T>()};
  }

  /// Another handle on the same buffer, with another shape of the same number of elements. Throws Error otherwise.
  Tensor Reshaped(const Shape& shape) const;

  /// A deep copy in host memory. Throws Error where the tensor is not host accessible (Session::Copy reads those), or
  /// undefined.
  Tensor Clone(Allocator& allocator = HostAllocator()) const;

  /// What keeps the buffer alive; null for views.
  const std::shared_ptr<void>& owner() const noexcept { return owner_; }

 private:
  friend class Frame;  // the executor rebinds planned buffers without touching the owner
  Tensor(ElementType type, const Shape& shape, void* data, std::shared_ptr<void> owner, const MemoryInfo& memory);
  const void* AlignedRaw() const;
  [[noreturn]] void ThrowElementType(ElementType asked) const;
  [[noreturn]] void ThrowElementCount(size_t given) const;

  template <class T>
  void RequireType() const {
    if (sizeof(T) != 1 && ElementTypeOf<T> != type_) [[unlikely]]
      ThrowElementType(ElementTypeOf<T>);
  }
  /// Packed types have no element that is a T.
  template <class T>
  void RequireElements(size_t count) const {
    const bool fits = count == static_cast<size_t>(num_elements_) && (sizeof(T) != 1 || count == byte_size_);
    if (!fits) [[unlikely]]
      ThrowElementCount(count);
  }
  /// How many T there are.
  template <class T>
  size_t CountOf() const {
    if (sizeof(T) == 1 && type_ != ElementType::kString) return byte_size_;
    if (ElementTypeOf<T> != type_) [[unlikely]]
      ThrowElementType(ElementTypeOf<T>);
    return static_cast<size_t>(num_elements_);
  }

  ElementType type_ = ElementType::kUndefined;
  bool unaligned_ = false;  // owner_ is an UnalignedBytes
  Shape shape_;
  int64_t num_elements_ = 0;
  size_t byte_size_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
  MemoryInfo memory_;
};

/// An element at any address.
template <class T>
T LoadUnaligned(const T* from) noexcept {
  T value;
  std::memcpy(&value, static_cast<const void*>(from), sizeof(T));
  return value;
}

struct Sequence;
struct Map;

/// COO sparse tensor (onnx::SparseTensorProto): `values` is [nnz]; `indices` is int64 [nnz] (linear) or [nnz, rank].
struct SparseTensor {
  Tensor values;
  Tensor indices;
  Shape dense_shape;

  /// The dense equivalent in host memory. Throws Error where indices are of another type or shape, or outside
  /// `dense_shape`.
  TESSERA_API Tensor ToDense() const;
};

/// What flows along an edge of a graph. An empty optional is kNone; a filled optional is its element. Copies share what is
/// inside: a tensor's buffer, as copies of Tensor do, and all else unchangeably.
class TESSERA_API Value {
 public:
  Value() = default;
  Value(Tensor tensor) : data_(std::move(tensor)) {}  // NOLINT: a tensor is a value
  Value(Sequence sequence);                           // NOLINT
  Value(Map map);                                     // NOLINT
  Value(SparseTensor tensor);                         // NOLINT

  ValueKind kind() const noexcept { return static_cast<ValueKind>(data_.index()); }
  bool is_none() const noexcept { return data_.index() == 0; }
  bool is_tensor() const noexcept { return data_.index() == 1; }

  /// Each throws Error(kInvalidArgument) naming the kind that is there when it is another. References live as long as the
  /// value.
  const Tensor& tensor() const;
  Tensor& tensor();
  const Sequence& sequence() const;
  const Map& map() const;
  const SparseTensor& sparse_tensor() const;
  /// The sequence, to be changed, where it is one and no other value shares it; else null.
  Sequence* unshared_sequence() noexcept;

  /// The tensor when it is one, else null: the run loop's accessor.
  const Tensor* tensor_if() const noexcept { return std::get_if<Tensor>(&data_); }
  Tensor* tensor_if() noexcept { return std::get_if<Tensor>(&data_); }

  /// The run-time type, concrete shapes included.
  TypeInfo type() const;

 private:
  // Order follows ValueKind.
  std::variant<std::monostate, Tensor, std::shared_ptr<const Sequence>, std::shared_ptr<const Map>,
               std::shared_ptr<const SparseTensor>>
      data_;
};

/// Values of one type. Immutable once inside a Value: copies share it.
struct Sequence {
  /// Type of the elements; needed where the sequence is empty.
  TypeInfo element_type;
  std::vector<Value> elements;
  /// Counts what `elements` takes beside the tensors in it, where a run made it.
  std::shared_ptr<const MemoryCharge> charge = nullptr;
  /// That many of the first elements are known to own their memory, so that nobody looks at them again. 0 is always right.
  size_t num_owned = 0;
};

/// keys: 1-D tensor of an integer type or string. The value of keys[i] is at(i): either values[i] or, where many values
/// that are scalars of one type share a buffer, element i of the tensor `scalars`; `values` is empty then.
struct TESSERA_API Map {
  Tensor keys;
  TypeInfo value_type;
  std::vector<Value> values;
  Tensor scalars = {};

  size_t size() const noexcept { return scalars.defined() ? static_cast<size_t>(scalars.num_elements()) : values.size(); }
  Value at(size_t i) const;
};

inline Value::Value(Sequence sequence) : data_(std::make_shared<Sequence>(std::move(sequence))) {}
inline Value::Value(Map map) : data_(std::make_shared<const Map>(std::move(map))) {}
inline Value::Value(SparseTensor tensor) : data_(std::make_shared<const SparseTensor>(std::move(tensor))) {}

}  // namespace tessera
