#include "special_values.h"

#include <algorithm>
#include <cstring>

namespace tessera::runner {
namespace {

template <class T>
void Put(Tensor& tensor, const SpecialValue& special) {
  const std::span<T> elements = tensor.mutable_values<T>();
  const auto number = static_cast<T>(special.number);
  if (special.everywhere) std::fill(elements.begin(), elements.end(), number);
  else elements[elements.size() * 2 / 3] = number;  // neither at an end nor where rows of powers of two begin
}

bool PutInto(Tensor& tensor, const SpecialValue& special) {
  switch (tensor.type()) {
    case ElementType::kFloat: return Put<float>(tensor, special), true;
    case ElementType::kDouble: return Put<double>(tensor, special), true;
    case ElementType::kFloat16: return Put<Float16>(tensor, special), true;
    case ElementType::kBFloat16: return Put<BFloat16>(tensor, special), true;
    default: return false;
  }
}

}  // namespace

std::vector<Value> WithSpecialValue(std::span<const Value> inputs, const SpecialValue& special) {
  std::vector<Value> changed(inputs.begin(), inputs.end());
  bool any = false;
  for (Value& value : changed) {
    const Tensor* tensor = value.tensor_if();
    if (tensor == nullptr || tensor->num_elements() == 0 || tensor->is(ElementType::kString)) continue;
    Tensor copy(tensor->type(), tensor->shape());
    std::memcpy(copy.mutable_raw(), tensor->raw(), tensor->byte_size());
    if (!PutInto(copy, special)) continue;
    value = std::move(copy);
    any = true;
  }
  return any ? changed : std::vector<Value>();
}

}  // namespace tessera::runner
