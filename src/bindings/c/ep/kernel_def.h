#pragma once

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnxruntime/onnxruntime_ep_c_api.h"

/// What a kernel of a plugin's implements.
struct OrtKernelDef {
  std::string op_type, domain, provider;
  int first_version = 1, last_version = std::numeric_limits<int>::max();  // both included
  std::map<size_t, OrtMemType> input_memory, output_memory;               // others: OrtMemTypeDefault
  /// By the name of a type parameter ("T"), or of an input or output: what it may be.
  std::map<std::string, std::vector<const OrtDataType*>, std::less<>> types;
  std::vector<std::pair<int, int>> aliases;   // input and output: the output is the input's buffer
  std::vector<std::pair<int, int>> in_place;  // the output may take the input's buffer
};

struct OrtKernelDefBuilder {
  OrtKernelDef def;
};
