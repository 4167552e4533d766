#pragma once

// Shapes and types as arguments of messages: they are put into words only when a message is made, which Require mostly need
// not.

#include <fmt/format.h>

#include "tessera/type_info.h"
#include "tessera/value.h"

namespace tessera {

/// The shape of an input that may be omitted.
struct OptionalShape {
  const Tensor* tensor;
};

/// A formatter of "{}" alone whose work is done in one file: it is part of almost every message.
template <class T>
struct PlainFormatter {
  constexpr auto parse(fmt::format_parse_context& context) const { return context.begin(); }
  fmt::appender format(const T& value, fmt::format_context& context) const;
};

}  // namespace tessera

template <>
struct fmt::formatter<tessera::Shape> : tessera::PlainFormatter<tessera::Shape> {};
template <>
struct fmt::formatter<tessera::OptionalShape> : tessera::PlainFormatter<tessera::OptionalShape> {};
template <>
struct fmt::formatter<tessera::TypeInfo> : tessera::PlainFormatter<tessera::TypeInfo> {};
