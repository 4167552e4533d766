#pragma once

// Attributes of a node that is not bound to a kernel yet; kernels ask their KernelInfo.

#include <string_view>
#include <utility>
#include <variant>

#include "tessera/provider/graph.h"

namespace tessera {

/// Null when the node has no attribute of that name and type.
template <class T>
const T* FindTyped(const Node& node, std::string_view name) noexcept {
  const AttributeValue* value = node.FindAttribute(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

template <class T>
T AttributeOr(const Node& node, std::string_view name, T fallback) {
  const T* value = FindTyped<T>(node, name);
  return value == nullptr ? std::move(fallback) : *value;
}

}  // namespace tessera
