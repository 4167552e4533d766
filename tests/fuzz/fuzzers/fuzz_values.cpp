// Bytes as a value: the .pb files of test data. One byte says the type; what could be read is written and read once more.

#include <cstdlib>

#include "choices.h"
#include "harness.h"
#include "tessera/serialization.h"
#include "wire_mutator.h"

namespace tessera::fuzz {
namespace {

/// make_seeds.py has them in this order.
std::vector<TypeInfo> Types() {
  const auto inside = [](ValueKind kind, const TypeInfo& inner, ElementType key = ElementType::kUndefined) {
    return TypeInfo{kind, key, std::nullopt, std::make_shared<const TypeInfo>(inner)};
  };
  const TypeInfo tensor = TypeInfo::OfTensor(ElementType::kFloat), numbers = TypeInfo::OfTensor(ElementType::kInt64);
  const TypeInfo sequence = inside(ValueKind::kSequence, tensor);
  return {tensor,
          sequence,
          inside(ValueKind::kOptional, tensor),
          inside(ValueKind::kOptional, sequence),
          inside(ValueKind::kMap, numbers, ElementType::kString),
          inside(ValueKind::kMap, tensor, ElementType::kInt64),
          inside(ValueKind::kSequence, inside(ValueKind::kMap, tensor, ElementType::kInt64)),
          TypeInfo{ValueKind::kSparseTensor, ElementType::kFloat, std::nullopt, nullptr}};
}

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fuzz;
  static const auto* const types = new std::vector<tessera::TypeInfo>(Types());
  Choices choices({data, size});
  const tessera::TypeInfo& type = (*types)[choices.Below(types->size())];
  Tolerate([&] {
    const tessera::Value value = tessera::ParseValue(Bytes(choices.Rest()), type);
    if (const auto* sparse = value.kind() == tessera::ValueKind::kSparseTensor ? &value.sparse_tensor() : nullptr) {
      if (sparse->dense_shape.num_elements() < (1 << 20)) sparse->ToDense();
    }
    const std::string written = tessera::SerializeValue(value, "value", type);
    const bool optional = value.is_none() || type.kind == tessera::ValueKind::kOptional;
    const tessera::Value again = tessera::ParseValue(std::as_bytes(std::span(written)), optional ? type : value.type());
    if (again.kind() != value.kind()) std::abort();
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace tessera::fuzz;
  if (size <= 1 || max_size <= 1) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 16 == 0) data[0] = static_cast<uint8_t>(seed >> 8);
  return 1 + MutateWire(data + 1, size - 1, max_size - 1, seed);
}
