#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "tessera/value.h"

namespace tessera {

/// Forms of constants that kernels made (packed weights), shared by every session of the process while one of them lives.
class PrepackCache {
 public:
  static PrepackCache& Process();

  /// The live value for this constant (same bytes in the same place, as the same type and shape) and key, or what `make`
  /// returns. Callers with other keys are not held up while it works; callers with the same one wait for it.
  std::shared_ptr<const void> GetOrMake(const Tensor& constant, std::string_view key,
                                        const std::function<std::shared_ptr<const void>()>& make);

  /// Live entries.
  size_t size() const;
  /// All entries, also those whose value is being made.
  size_t entries() const;

 private:
  PrepackCache();
  ~PrepackCache();
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace tessera
