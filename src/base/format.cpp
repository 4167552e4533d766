#include "base/format.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tessera {
namespace {

fmt::appender Append(std::string_view text, fmt::format_context& context) {
  return std::copy(text.begin(), text.end(), context.out());
}

}  // namespace

template <>
fmt::appender PlainFormatter<Shape>::format(const Shape& shape, fmt::format_context& context) const {
  return Append(shape.ToString(), context);
}

template <>
fmt::appender PlainFormatter<OptionalShape>::format(const OptionalShape& shape, fmt::format_context& context) const {
  return Append(shape.tensor == nullptr ? "missing" : shape.tensor->shape().ToString(), context);
}

template <>
fmt::appender PlainFormatter<TypeInfo>::format(const TypeInfo& type, fmt::format_context& context) const {
  return Append(type.ToString(), context);
}

}  // namespace tessera
