#include <algorithm>
#include <complex>
#include <cstring>

#include "base/bools.h"
#include "base/cancellation.h"
#include "base/check.h"
#include "base/checked.h"
#include "model/proto.h"

namespace tessera {
namespace {

using onnx::TensorProto;

bool IsSixBit(ElementType type) { return type == ElementType::kFloat6E2M3 || type == ElementType::kFloat6E3M2; }

/// Bytes of raw_data for `count` elements: as in memory, but 6-bit floats are packed four to three bytes.
size_t RawSize(ElementType type, int64_t count) {
  if (!IsSixBit(type)) return ByteSize(type, count);
  return (CheckedMul(static_cast<size_t>(count), size_t{6}) + 7) / 8;
}

void UnpackSixBit(std::span<const std::byte> packed, Tensor& tensor) {
  auto* elements = tensor.mutable_data<uint8_t>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const size_t bit = static_cast<size_t>(i) * 6, byte = bit / 8;
    unsigned word = std::to_integer<unsigned>(packed[byte]);
    if (byte + 1 < packed.size()) word |= std::to_integer<unsigned>(packed[byte + 1]) << 8;
    elements[i] = static_cast<uint8_t>((word >> (bit % 8)) & 0x3f);
  }
}

/// Smaller ones are copied at once.
constexpr size_t kUnalignedFrom = size_t{32} << 10;

Tensor PlainBools(const Shape& shape, std::span<const std::byte> bytes, const LoadLimits& limits) {
  Tensor tensor(ElementType::kBool, shape, limits.memory());
  CopyAsPlainBools(bytes, static_cast<std::byte*>(tensor.mutable_raw()));
  return tensor;
}

Tensor FromRaw(ElementType type, const Shape& shape, const SharedBytes& raw, const std::string& name,
               const LoadLimits& limits) {
  const size_t expected = RawSize(type, shape.num_elements());
  Require(raw.bytes.size() == expected, "tensor '{}': {} bytes of data, {} {} needs {}", name, raw.bytes.size(),
          ElementTypeName(type), shape, expected);
  const bool aligned = reinterpret_cast<uintptr_t>(raw.bytes.data()) % RequiredAlignment(type) == 0;
  if (type == ElementType::kBool && !ArePlainBools(raw.bytes)) return PlainBools(shape, raw.bytes, limits);
  if (raw.owner != nullptr && !aligned && !IsSixBit(type) && expected >= kUnalignedFrom) {
    return Tensor::ShareUnaligned(type, shape, raw.bytes.data(), raw.owner);
  }
  if (raw.owner != nullptr && aligned && !IsSixBit(type) && expected > 0) {
    // The bytes are never written: constants are read-only, and in-place outputs never take a constant's buffer.
    return Tensor::Share(type, shape, const_cast<std::byte*>(raw.bytes.data()), std::const_pointer_cast<void>(raw.owner));
  }
  Tensor tensor(type, shape, limits.memory());
  if (IsSixBit(type)) {
    UnpackSixBit(raw.bytes, tensor);
  } else if (expected > 0) {
    constexpr size_t kAtOnce = size_t{4} << 20;  // a few milliseconds, pages that are touched first included
    for (size_t at = 0; at < expected; at += kAtOnce) {
      limits.Check();
      std::memcpy(static_cast<std::byte*>(tensor.mutable_raw()) + at, raw.bytes.data() + at,
                  std::min(kAtOnce, expected - at));
    }
  }
  return tensor;
}

template <class T, class Field>
void CopyField(const Field& field, Tensor& tensor, const std::string& name) {
  Require(field.size() == tensor.num_elements(), "tensor '{}': {} elements of data, shape {} has {}", name, field.size(),
          tensor.shape(), tensor.num_elements());
  T* const to = tensor.mutable_data<T>();
  InCancellablePieces(0, tensor.num_elements(), 1.0, [&](int64_t begin, int64_t end) {
    std::transform(field.begin() + begin, field.begin() + end, to + begin,
                   [](auto value) { return static_cast<T>(value); });
  });
}

/// int32_data holds one element each for types of 8 to 32 bits, one byte of packed elements for narrower ones.
void CopyInt32Field(const TensorProto& proto, Tensor& tensor) {
  const auto& field = proto.int32_data();
  const int bits = BitWidth(tensor.type());
  const int64_t expected = bits < 8 ? static_cast<int64_t>(tensor.byte_size()) : tensor.num_elements();
  Require(field.size() == expected, "tensor '{}': {} entries of int32_data, {} {} needs {}", proto.name(), field.size(),
          ElementTypeName(tensor.type()), tensor.shape(), expected);
  auto* bytes = static_cast<std::byte*>(tensor.mutable_raw());
  const size_t width = bits < 8 ? 1 : static_cast<size_t>(bits) / 8;
  PacedCancellationPoint point(2.0);
  for (int i = 0; i < field.size(); ++i) {
    point.Pass();
    // Little-endian: the low bytes come first.
    const int32_t element = tensor.is(ElementType::kBool) ? field.Get(i) != 0 : field.Get(i);
    std::memcpy(bytes + static_cast<size_t>(i) * width, &element, width);
  }
}

template <class T, class Field>
void CopyComplexField(const Field& field, Tensor& tensor, const std::string& name) {
  Require(field.size() == 2 * tensor.num_elements(), "tensor '{}': {} numbers of data, {} complex elements need {}", name,
          field.size(), tensor.num_elements(), 2 * tensor.num_elements());
  InCancellablePieces(0, field.size(), 1.0, [&](int64_t begin, int64_t end) {
    std::copy(field.begin() + begin, field.begin() + end, static_cast<T*>(tensor.mutable_raw()) + begin);
  });
}

void CopyTypedFields(const TensorProto& proto, Tensor& tensor) {
  switch (tensor.type()) {
    case ElementType::kFloat: return CopyField<float>(proto.float_data(), tensor, proto.name());
    case ElementType::kDouble: return CopyField<double>(proto.double_data(), tensor, proto.name());
    case ElementType::kInt64: return CopyField<int64_t>(proto.int64_data(), tensor, proto.name());
    case ElementType::kUInt64: return CopyField<uint64_t>(proto.uint64_data(), tensor, proto.name());
    case ElementType::kUInt32: return CopyField<uint32_t>(proto.uint64_data(), tensor, proto.name());
    case ElementType::kComplex64: return CopyComplexField<float>(proto.float_data(), tensor, proto.name());
    case ElementType::kComplex128: return CopyComplexField<double>(proto.double_data(), tensor, proto.name());
    case ElementType::kString:
      Require(proto.string_data_size() == tensor.num_elements(), "tensor '{}': {} strings, shape {} has {}", proto.name(),
              proto.string_data_size(), tensor.shape(), tensor.num_elements());
      return InCancellablePieces(0, tensor.num_elements(), 50.0, [&](int64_t begin, int64_t end) {
        const auto strings = proto.string_data().begin();
        std::copy(strings + begin, strings + end, tensor.mutable_data<std::string>() + begin);
      });
    default: return CopyInt32Field(proto, tensor);
  }
}

/// The most elements that the lists of a message may hold.
int64_t MostListed(const TensorProto& proto) {
  return proto.float_data_size() + proto.int32_data_size() * int64_t{4} + proto.string_data_size() +
         proto.int64_data_size() + proto.double_data_size() + proto.uint64_data_size();
}

TensorProto WithoutData(const Tensor& tensor, std::string_view name) {
  TensorProto proto;
  proto.set_name(std::string(name));
  proto.set_data_type(static_cast<int32_t>(tensor.type()));
  for (int64_t dim : tensor.shape()) proto.add_dims(dim);
  return proto;
}

}  // namespace

bool IsStoredRaw(ElementType type) noexcept { return type != ElementType::kString && !IsSixBit(type); }

size_t RequiredAlignment(ElementType type) noexcept {
  const int bits = BitWidth(type);
  return bits < 8 ? 1 : std::min<size_t>(static_cast<size_t>(bits) / 8, 8);
}

Tensor FromProto(const TensorProto& proto, const TensorDataSource& source, const LoadLimits& limits) {
  limits.Check();
  const auto type = static_cast<ElementType>(proto.data_type());
  Require(BitWidth(type) != 0, "tensor '{}' has unknown element type {}", proto.name(), proto.data_type());
  Require(proto.raw_data().empty() || MostListed(proto) == 0, "tensor '{}' is given twice, as raw_data and as a list",
          proto.name());
  Require(!proto.has_segment(), "tensor '{}' is stored in segments, which ONNX never defined", proto.name());
  const Shape shape(std::span<const int64_t>(proto.dims().data(), static_cast<size_t>(proto.dims_size())));
  try {
    if (source) {
      if (const auto raw = source(proto)) {
        Require(type != ElementType::kString, "strings cannot be raw data");
        return FromRaw(type, shape, *raw, proto.name(), limits);
      }
    }
    Require(proto.data_location() != TensorProto::EXTERNAL, "its data is external, and there is no folder to find it in");
    if (proto.has_raw_data()) {
      Require(type != ElementType::kString, "strings cannot be raw data");
      const auto bytes = std::as_bytes(std::span(proto.raw_data()));
      return FromRaw(type, shape, {bytes, nullptr}, proto.name(), limits);
    }
    // Check before allocating: a tiny message must not ask for terabytes.
    Require(shape.num_elements() <= MostListed(proto), "it holds less data than shape {} needs", shape);
    Tensor tensor(type, shape, limits.memory());
    CopyTypedFields(proto, tensor);
    return tensor;
  } catch (const Error& error) {
    throw error.At(fmt::format("tensor '{}'", proto.name()));
  }
}

SparseTensor FromProto(const onnx::SparseTensorProto& proto, const TensorDataSource& source, const LoadLimits& limits) {
  SparseTensor sparse;
  sparse.values = FromProto(proto.values(), source, limits);
  sparse.indices = FromProto(proto.indices(), source, limits);
  sparse.dense_shape = Shape(std::span<const int64_t>(proto.dims().data(), static_cast<size_t>(proto.dims_size())));
  return sparse;
}

TensorProto ToProto(const Tensor& tensor, std::string_view name) {
  TensorProto proto = WithoutData(tensor, name);
  if (tensor.is(ElementType::kString)) {
    for (const std::string& text : tensor.values<std::string>()) proto.add_string_data(text);
  } else if (!IsStoredRaw(tensor.type())) {
    for (uint8_t element : std::span(tensor.data<uint8_t>(), static_cast<size_t>(tensor.num_elements()))) {
      proto.add_int32_data(element);
    }
  } else {
    proto.set_raw_data(tensor.unaligned_raw(), tensor.byte_size());
  }
  return proto;
}

TensorProto ToProto(const Tensor& tensor, std::string_view name, const WeightPlace& place) {
  TensorProto proto = WithoutData(tensor, name);
  proto.set_data_location(TensorProto::EXTERNAL);
  const auto say = [&](const char* key, std::string value) {
    auto& entry = *proto.add_external_data();
    entry.set_key(key);
    entry.set_value(std::move(value));
  };
  say("location", place.file);
  say("offset", std::to_string(place.offset));
  say("length", std::to_string(place.bytes));
  return proto;
}

}  // namespace tessera
