#pragma once

// 4- and 2-bit types are rare where data is moved: their kernels see one element per byte, and the result is packed again.

#include <memory>

#include "cpu/engine/on_texts.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// `kernel` itself, or where `info` has packed inputs or outputs a kernel that runs it on bytes (element type uint8, the
/// element in the low bits).
std::unique_ptr<Kernel> OnBytes(const KernelInfo& info, std::unique_ptr<Kernel> kernel);

/// Factory of movement kernels: their Compute dispatches on the element's size.
template <class K>
std::unique_ptr<Kernel> MakeMovement(const KernelInfo& info) {
  return OnTexts(info, OnBytes(info, std::make_unique<K>(info)));
}

}  // namespace tessera::cpu
