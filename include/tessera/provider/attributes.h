#pragma once

// Attributes of a node that is not bound to a kernel yet, for GetCapability and Compile; kernels ask their KernelInfo,
// which also says what is wrong.

#include <string_view>
#include <utility>
#include <variant>

#include "tessera/provider/graph.h"

namespace tessera {

/// The attribute where the node keeps it; null when the node has none of that name and type (those of AttributeValue).
template <class T>
const T* FindTyped(const Node& node, std::string_view name) noexcept {
  const AttributeValue* value = node.FindAttribute(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

/// The attribute, or `fallback` when the node has none of that name and type.
template <class T>
T AttributeOr(const Node& node, std::string_view name, T fallback) {
  const T* value = FindTyped<T>(node, name);
  return value == nullptr ? std::move(fallback) : *value;
}

}  // namespace tessera
