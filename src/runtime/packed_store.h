#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "tessera/kernel.h"

namespace tessera {

/// Packed forms of a session's constants that outlive the process.
class PackedStore {
 public:
  virtual ~PackedStore() = default;
  /// The form of `constant` kept under `key`, of one of these types and this shape; null when there is none.
  virtual std::shared_ptr<const Tensor> Find(const Tensor& constant, std::string_view key, std::span<const ElementType> types,
                                             const Shape& shape) = 0;
  virtual void Add(const Tensor& constant, std::string_view key, std::shared_ptr<const Tensor> packed) = 0;
  /// Says that a kernel reads the constant aligned.
  virtual void NoteAligned(const Tensor& constant) = 0;

  /// The store of the session that this thread is making a plan for, for providers that compile whole subgraphs.
  static PackedStore* Current() noexcept;
  class Scope {
   public:
    explicit Scope(PackedStore* store) noexcept;
    Scope(const Scope&) = delete;
    ~Scope();

   private:
    PackedStore* previous_;
  };
};

/// KernelInfo::SharedPrepack for forms that are one tensor of one of these types and a known shape: with a context they come from
/// there.
std::shared_ptr<const Tensor> SharedTensor(const KernelInfo& info, const Tensor& constant, std::string_view key,
                                           std::span<const ElementType> types, const Shape& shape,
                                           const std::function<std::shared_ptr<const Tensor>()>& make);

inline std::shared_ptr<const Tensor> SharedTensor(const KernelInfo& info, const Tensor& constant, std::string_view key, ElementType type,
                                                  const Shape& shape, const std::function<std::shared_ptr<const Tensor>()>& make) {
  return SharedTensor(info, constant, key, std::span(&type, 1), shape, make);
}

}  // namespace tessera
