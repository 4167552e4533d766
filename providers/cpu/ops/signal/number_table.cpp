#include "cpu/ops/signal/number_table.h"

#include "base/check.h"

namespace tessera::cpu {

ElementType TableType(const KernelInfo& info) {
  const auto type = info.attribute<int64_t>("output_datatype", static_cast<int64_t>(ElementType::kFloat));
  Require(type > 0 && type < kElementTypeCount && kNumbers.contains(static_cast<ElementType>(type)),
          "output_datatype is {}, a number type is expected", type);
  return static_cast<ElementType>(type);
}

}  // namespace tessera::cpu
