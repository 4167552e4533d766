#pragma once

// Values that leave a frame must own what they hold.

#include <string_view>

#include "runtime/resources.h"
#include "tessera/value.h"

namespace tessera {

/// A copy in the memory of `allocator`, wherever `tensor` lies.
Tensor CloneInMemory(const Tensor& tensor, Allocator& allocator, const SessionResources& resources);

/// Replaces every tensor inside `value` that owns nothing by a copy.
void MakeOwned(Value& value, const SessionResources& resources);

/// Copies a result into the caller's buffer; throws Error naming the output when type or shape differ.
void CopyToResult(const Tensor& result, Tensor& buffer, std::string_view output, const SessionResources& resources);

}  // namespace tessera
