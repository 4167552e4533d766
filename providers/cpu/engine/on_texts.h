#pragma once

// Strings as their kernels move them: views of characters, which are no memory. All that an output holds is known, and
// counted against the run's memory, before any of it is copied: one long string may be asked for a million times.

#include <memory>
#include <span>
#include <string_view>

#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Output `i`, of `shape`, with copies of these texts, unless it is omitted. Throws Error where there is no memory for
/// them.
void WriteTexts(KernelContext& context, size_t i, const Shape& shape, std::span<const std::string_view> texts);

/// The element type as which a kernel made by OnTexts sees strings, and other types as they are.
constexpr ElementType MovedType(ElementType type) noexcept {
  return type == ElementType::kString ? ElementType::kComplex128 : type;
}

/// `kernel` itself, or where `info` has inputs that may be strings a kernel that runs it on views of them where they are
/// (element type complex128, of the same size: what such a kernel does with elements other than move them means nothing,
/// and zeros are the empty string).
std::unique_ptr<Kernel> OnTexts(const KernelInfo& info, std::unique_ptr<Kernel> kernel);

}  // namespace tessera::cpu
