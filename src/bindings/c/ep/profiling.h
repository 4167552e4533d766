#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onnxruntime/onnxruntime_ep_c_api.h"

/// What a provider says of something that took time.
struct OrtProfilingEvent {
  OrtProfilingEventCategory category = OrtProfilingEventCategory_NODE;
  int32_t process = 0, thread = 0;
  std::string name;
  int64_t timestamp_us = 0, duration_us = 0;
  std::map<std::string, std::string, std::less<>> arguments;
};

/// What a provider adds to the profile of a session when that ends.
struct OrtProfilingEventsContainer {
  std::vector<OrtProfilingEvent> events;
};
