#include "opencl/claims/refusals.h"

namespace tessera::opencl {

std::optional<int64_t> KnownSize(const TypeInfo& type) {
  if (!type.shape) return std::nullopt;
  int64_t size = 1;
  for (const Dimension& dimension : *type.shape) {
    if (!dimension.known() || __builtin_mul_overflow(size, dimension.value, &size)) return std::nullopt;
  }
  return size;
}

std::string SpatialRefusal(const NodeInfo& info) {
  const auto& shape = info.input_info(0).shape;
  const bool spatial = shape && shape->size() >= 3 && shape->size() <= 5;
  return spatial ? "" : "one to three spatial dimensions are computed on the device";
}

std::string ScaleRefusal(const NodeInfo& info, std::initializer_list<size_t> single,
                         std::initializer_list<size_t> by_channel) {
  for (const size_t i : single) {
    if (info.has_input(i) && KnownSize(info.input_info(i)) != 1)
      return "more than one scale or zero point is left to the CPU provider";
  }
  for (const size_t i : by_channel) {
    if (!info.has_input(i)) continue;
    const TypeInfo& type = info.input_info(i);
    if (!type.shape || (type.shape->size() > 1 && KnownSize(type) != 1))
      return "scales of several axes are left to the CPU provider";
  }
  return {};
}

}  // namespace tessera::opencl
