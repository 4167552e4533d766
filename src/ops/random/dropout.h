#pragma once

// Dropout (1, 6, 7, 10, 12, 13, 22): trains unless is_test is set before version 7, never before version 12, and where an
// input says so from then on.

#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

/// Whether it may drop something in a run. `training_mode` is the constant that input 2 is, null where it is none.
inline bool DropoutMayTrain(const Node& node, const Tensor* training_mode) {
  if (node.since_version < 7) return AttributeOr<int64_t>(node, "is_test", 0) == 0;
  if (node.since_version < 12 || node.inputs.size() < 3 || node.inputs[2] == kNone) return false;
  return training_mode == nullptr || !training_mode->is(ElementType::kBool) || training_mode->num_elements() != 1 ||
         *training_mode->data<bool>();
}

}  // namespace tessera
