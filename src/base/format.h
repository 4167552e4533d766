#pragma once

// Shapes and types as arguments of messages: they are put into words only when a message is made, which Require mostly need not.

#include <fmt/format.h>

#include "tessera/type_info.h"
#include "tessera/value.h"

namespace tessera {

/// The shape of an input that may be omitted.
struct OptionalShape {
  const Tensor* tensor;
};

}  // namespace tessera

template <>
struct fmt::formatter<tessera::Shape> : formatter<string_view> {
  auto format(const tessera::Shape& shape, format_context& context) const {
    return formatter<string_view>::format(shape.ToString(), context);
  }
};

template <>
struct fmt::formatter<tessera::OptionalShape> : formatter<string_view> {
  auto format(tessera::OptionalShape shape, format_context& context) const {
    return formatter<string_view>::format(shape.tensor == nullptr ? "missing" : shape.tensor->shape().ToString(), context);
  }
};

template <>
struct fmt::formatter<tessera::TypeInfo> : formatter<string_view> {
  auto format(const tessera::TypeInfo& type, format_context& context) const {
    return formatter<string_view>::format(type.ToString(), context);
  }
};
