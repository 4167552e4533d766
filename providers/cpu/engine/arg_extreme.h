#pragma once

#include "ops/axis.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Writes the position of the maximum or minimum along the view's axis to index[outer * inner]. view.count >= 1.
/// T: the numbers; ties go to the first position, or to the last; NaN is more extreme than any number. Positions are within
/// the axis.
template <class T>
void ArgExtreme(KernelContext& context, const AxisView& view, const T* x, bool minimum, bool last, int64_t* index);

}  // namespace tessera::cpu
