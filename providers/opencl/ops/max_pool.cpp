// MaxPool (1-22).

#include "opencl/claims/refusals.h"
#include "opencl/ops/pool.h"

namespace tessera::opencl {
namespace {

std::unique_ptr<Kernel> MakeMaxPool(const KernelInfo& info) {
  const ElementType type = info.input_type(0);
  const char* lowest = type == ElementType::kInt8 ? "CHAR_MIN" : type == ElementType::kUInt8 ? "0" : "-INFINITY";
  return MakePool(info, fmt::format("#define LOWEST {}\n", lowest));
}

}  // namespace

void RegisterMaxPool(KernelRegistry& registry) {
  constexpr TypeSet kOrdered = kReals | TypeSet{ElementType::kInt8, ElementType::kUInt8};
  registry.Add(Op("MaxPool").Versions(1).Types(0, kOrdered).Unless(SpatialRefusal).Factory(MakeMaxPool));
}

}  // namespace tessera::opencl
