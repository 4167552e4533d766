#pragma once

// Memories of a library's devices: their allocators, and copies from and to them.

#include <memory>

#include "plugin/compiled_kernel.h"
#include "plugin/ep.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {

/// Null where the library says that the processor's memory serves.
std::unique_ptr<Allocator> MakeAllocator(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo& memory);

/// Throws Error where the library has memory of its own and no way to copy there.
std::unique_ptr<DataTransfer> MakeTransfer(const std::shared_ptr<Ep>& ep);

/// Copies of constants in the provider's memory; null: they stay where they are.
PlaceConstant ConstantsIn(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo* memory);

}  // namespace tessera::plugin
