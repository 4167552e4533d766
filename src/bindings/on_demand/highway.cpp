// The two functions of libhwy that dispatch needs, from a library that is opened when the first kernel is chosen: it
// measures its clock as it is loaded, which takes as long as loading all other libraries together. Only libtessera.so has
// this file; whatever is linked statically has libhwy itself.

#include <hwy/targets.h>

#include "bindings/on_demand/stubs.h"
#include "highway_library.h"

// The header exports them, as libhwy does; here they are nobody's but this library's.
__asm__(".hidden _ZN3hwy16SupportedTargetsEv\n.hidden _ZN3hwy15GetChosenTargetEv");

namespace hwy {
namespace {

/// What the library has, or, where it is gone, what every processor of the build's kind can do.
struct Library {
  using TargetsFunction = int64_t (*)();
  using ChosenFunction = ChosenTarget& (*)();

  Library() {
    void* const handle = dlopen(kHighwayLibrary, tessera::on_demand::kOpen);
    if (handle == nullptr) return;
    targets = reinterpret_cast<TargetsFunction>(dlsym(handle, "_ZN3hwy16SupportedTargetsEv"));
    chosen = reinterpret_cast<ChosenFunction>(dlsym(handle, "_ZN3hwy15GetChosenTargetEv"));
  }
  bool complete() const noexcept { return targets != nullptr && chosen != nullptr; }

  TargetsFunction targets = nullptr;
  ChosenFunction chosen = nullptr;
};

const Library& TheLibrary() {
  static const Library library;
  return library;
}

ChosenTarget& ChosenHere() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace

int64_t SupportedTargets() { return TheLibrary().complete() ? TheLibrary().targets() : HWY_STATIC_TARGET; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget& chosen = TheLibrary().complete() ? TheLibrary().chosen() : ChosenHere();
  return chosen;
}

}  // namespace hwy
