#pragma once

#include "api.h"

namespace teaching {

constexpr const char* kProviderName = "TeachingExecutionProvider";

/// Says which devices the provider can use, and makes a provider for each session. It derives from the interface's struct,
/// so that the pointer that the runtime hands back to each function is this object's.
class Factory : public OrtEpFactory {
 public:
  explicit Factory(const Api& api);

 private:
  void FindDevices(const OrtHardwareDevice* const* devices, size_t num_devices, OrtEpDevice** found, size_t max_found,
                   size_t* num_found);

  const Api api_;
};

}  // namespace teaching
