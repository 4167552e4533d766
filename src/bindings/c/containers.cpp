// Sequences and maps, and the values in them.

#include <cstring>

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

constexpr int kMapKeys = 0, kMapValues = 1;

Value SequenceOf(const OrtValue* const* in, size_t count) {
  Sequence sequence;
  for (size_t i = 0; i < count; ++i) {
    const OrtValue& element = Given(in[i], "an element of the sequence");
    Require(!element.is_none(), "element {} of the sequence is nothing", i);
    const TypeInfo type = element.type();
    if (i == 0) {
      sequence.element_type = type;
      if (type.is_tensor()) sequence.element_type.shape.reset();
    }
    Require(type.kind == sequence.element_type.kind && type.element == sequence.element_type.element,
            "element {} of the sequence is {}, the first one is {}", i, type.ToString(), sequence.element_type.ToString());
    sequence.elements.push_back(element);
  }
  return Value(std::move(sequence));
}

Value MapOf(const OrtValue* const* in, size_t count) {
  Require(count == 2, "a map is made of two tensors, its keys and its values; {} values are given", count);
  const Tensor& keys = TensorIn(in[0]);
  const Tensor& values = TensorIn(in[1]);
  Require(keys.is(ElementType::kInt64) || keys.is(ElementType::kString), "keys of a map are {}, expected int64 or string",
          ElementTypeName(keys.type()));
  Require(keys.shape().rank() == 1 && keys.shape() == values.shape(),
          "keys of a map have shape {} and values {}, expected one dimension, the same of both", keys.shape(),
          values.shape());
  Map map;
  map.keys = keys;
  map.value_type = TypeInfo::OfTensor(values.type(), SymbolicShape());
  map.scalars = values;
  return Value(std::move(map));
}

/// The values of a map as one tensor in the order of its keys.
Tensor ValuesOf(const Map& map) {
  if (map.scalars.defined()) return map.scalars;
  const Shape shape{static_cast<int64_t>(map.size())};
  Tensor all(map.value_type.element, shape);
  const auto width = static_cast<size_t>(BitWidth(all.type()) / 8);
  for (size_t i = 0; i < map.size(); ++i) {
    const Tensor& one = map.values[i].tensor();
    Require(one.type() == all.type() && one.num_elements() == 1, "value {} of the map is no scalar; it has shape {}", i,
            one.shape());
    if (all.is(ElementType::kString)) {
      all.mutable_values<std::string>()[i] = one.values<std::string>()[0];
    } else {
      std::memcpy(static_cast<std::byte*>(all.mutable_raw()) + i * width, one.raw(), width);
    }
  }
  return all;
}

}  // namespace

OrtStatusPtr CreateValue(const OrtValue* const* in, size_t num_values, ONNXType value_type, OrtValue** out) noexcept {
  return Guarded([&] {
    Given(in, "the values");
    Given(out, "out");
    if (num_values == 0) Fail(ErrorCode::kFail, "no values are given; a sequence takes one or more, a map two");
    Require(value_type == ONNX_TYPE_SEQUENCE || value_type == ONNX_TYPE_MAP,
            "the type is {}, expected a sequence (2) or a map (3)", static_cast<int>(value_type));
    *out = new OrtValue(value_type == ONNX_TYPE_MAP ? MapOf(in, num_values) : SequenceOf(in, num_values));
  });
}

OrtStatusPtr GetValueCount(const OrtValue* value, size_t* out) noexcept {
  return Guarded([&] {
    const OrtValue& given = Given(value, "the value");
    const bool map = given.kind() == ValueKind::kMap;
    if (!map && given.kind() != ValueKind::kSequence)
      Fail(ErrorCode::kFail, "the value is neither a sequence nor a map, so that it has no values in it");
    Given(out, "out") = map ? 2 : given.sequence().elements.size();
  });
}

// What is got shares its memory with the container: the allocator has nothing to do.
OrtStatusPtr GetValue(const OrtValue* value, int index, OrtAllocator* /*allocator*/, OrtValue** out) noexcept {
  return Guarded([&] {
    const OrtValue& given = Given(value, "the value");
    Given(out, "out");
    if (given.kind() == ValueKind::kMap) {
      if (index != kMapKeys && index != kMapValues)
        Fail(ErrorCode::kFail, "a map has its keys at 0 and its values at 1; {} is asked for", index);
      *out = new OrtValue(index == kMapKeys ? given.map().keys : ValuesOf(given.map()));
      return;
    }
    const std::vector<Value>& elements = given.sequence().elements;
    if (index < 0 || static_cast<size_t>(index) >= elements.size())
      Fail(ErrorCode::kFail, "the sequence has {} elements; {} is asked for", elements.size(), index);
    *out = new OrtValue(elements[static_cast<size_t>(index)]);
  });
}

}  // namespace tessera::c_abi
