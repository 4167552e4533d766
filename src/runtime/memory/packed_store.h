#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/provider/kernel.h"

namespace tessera {

/// Packed forms of a session's constants that outlive the process.
class PackedStore {
 public:
  virtual ~PackedStore() = default;
  /// The form of `constant` kept under `key`, of one of these types and, where it is known, this shape; null when there is
  /// none.
  virtual std::shared_ptr<const Tensor> Find(const Tensor& constant, std::string_view key,
                                             std::span<const ElementType> types, const std::optional<Shape>& shape) = 0;
  /// Whether what is added will be kept.
  virtual bool keeps() const = 0;
  virtual void Add(const Tensor& constant, std::string_view key, std::shared_ptr<const Tensor> packed) = 0;
  /// Says that a kernel reads the constant aligned.
  virtual void NoteAligned(const Tensor& constant) = 0;
};

/// The store of the kernel's session; null when it has none.
PackedStore* StoreOf(const KernelInfo& info);
/// `key` of a form of this constant: the same bytes may be constants of several types and shapes.
std::string FormKey(const Tensor& constant, std::string_view key);

/// KernelInfo::SharedPrepack for forms that are one tensor of one of these types and a known shape: with a context they
/// come from there.
std::shared_ptr<const Tensor> SharedTensor(const KernelInfo& info, const Tensor& constant, std::string_view key,
                                           std::span<const ElementType> types, const Shape& shape,
                                           const std::function<std::shared_ptr<const Tensor>()>& make);

inline std::shared_ptr<const Tensor> SharedTensor(const KernelInfo& info, const Tensor& constant, std::string_view key,
                                                  ElementType type, const Shape& shape,
                                                  const std::function<std::shared_ptr<const Tensor>()>& make) {
  return SharedTensor(info, constant, key, std::span(&type, 1), shape, make);
}

}  // namespace tessera
