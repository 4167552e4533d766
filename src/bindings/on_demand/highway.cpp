// The two functions of libhwy that dispatch needs. Its own library measures its clock as it is loaded, which takes longer
// than the load of a small model. Only libtessera.so has this file; whatever is linked statically has libhwy itself.

#include <hwy/targets.h>

#include "kernels/vector/processor_targets.h"

// The header exports them, as libhwy does; here they are nobody's but this library's.
__asm__(".hidden _ZN3hwy16SupportedTargetsEv\n.hidden _ZN3hwy15GetChosenTargetEv");

namespace hwy {

int64_t SupportedTargets() { return tessera::cpu::ProcessorTargets(); }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
