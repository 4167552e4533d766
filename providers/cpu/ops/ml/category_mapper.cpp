// CategoryMapper, ai.onnx.ml, version 1.

#include <memory>
#include <string>
#include <vector>

#include "cpu/ops/ml/mapping.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

std::unique_ptr<Kernel> MakeCategoryMapper(const KernelInfo& info) {
  return MakeTwoWay(info, info.attribute<std::vector<std::string>>("cats_strings", {}),
                    info.attribute<std::vector<int64_t>>("cats_int64s", {}));
}

}  // namespace

void RegisterCategoryMapper(KernelRegistry& registry) {
  registry.Add(Op("CategoryMapper", "ai.onnx.ml").Versions(1).Types(0, kStringOrInt).Factory(MakeCategoryMapper));
}

}  // namespace tessera::cpu
