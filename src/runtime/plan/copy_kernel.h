#pragma once

#include <optional>
#include <string_view>

#include "runtime/resources.h"
#include "tessera/provider/kernel.h"

namespace tessera {

class StepContext;

/// Brings a tensor to another memory of the session, or shows it there where device and host share theirs.
class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(const SessionResources& resources) : resources_(resources) {}
  void Compute(KernelContext& context) override;

  /// Whether the memory that it copies from or to may be used in place.
  static constexpr std::string_view kInPlace = " in place";

 private:
  std::optional<Tensor> Shared(StepContext& context, const Tensor& from) const;

  const SessionResources& resources_;
};

}  // namespace tessera
