#pragma once

// A library's way to copy between its memories and the processor's.

#include <memory>

#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/memory.h"

namespace tessera::plugin {

class Transfer {
 public:
  /// Null where the factory has none. Throws Error where what it makes is not filled in.
  static std::unique_ptr<Transfer> Make(OrtEpFactory& factory);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  bool CanCopy(const MemoryInfo& from, const MemoryInfo& to);
  /// Of one tensor into another. Without a stream it is done on return.
  void Copy(const OrtValue& from, OrtValue& to, OrtSyncStream* stream);

 private:
  explicit Transfer(OrtDataTransferImpl& impl) noexcept : impl_(impl) {}

  OrtDataTransferImpl& impl_;
};

}  // namespace tessera::plugin
