// Where (9, 16).

#include "opencl/ops/elementwise.h"

namespace tessera::opencl {
namespace {

/// Elements are moved by their width.
std::unique_ptr<Kernel> MakeWhere(const KernelInfo& info) {
  const ElementType type = info.output_type(0);
  return std::make_unique<Elementwise>(
      info, Computed('A', ElementType::kBool) + Moved('B', type) + Moved('C', type) + Moved('Y', type), "a ? b : c", 0, 0);
}

}  // namespace

void RegisterWhere(KernelRegistry& registry) {
  registry.Add(Op("Where").Versions(9).Types(1, kMovable).Types(2, kMovable).Factory(MakeWhere));
}

}  // namespace tessera::opencl
