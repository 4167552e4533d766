// Where the functions of libraries that are opened on demand come from.

#include "bindings/on_demand/stubs.h"

#include "base/check.h"

namespace tessera::on_demand {
namespace {

/// Opened once more by two threads that come at once, it is the same one. It stays: slots name its functions.
void* Opened(Library& library) {
  void* handle = library.handle.load(std::memory_order_acquire);
  if (handle != nullptr) return handle;
  handle = dlopen(library.file, kOpen);
  if (handle == nullptr) Fail(ErrorCode::kFail, "a library that is needed now cannot be opened: {}", dlerror());
  library.handle.store(handle, std::memory_order_release);
  return handle;
}

}  // namespace

void* Bind(Library& library, size_t number) {
  void* const address = dlsym(Opened(library), library.names[number]);
  if (address == nullptr) {
    Fail(ErrorCode::kFail, "{} has no function {}, which the one that Tessera was built with has", library.file,
         library.names[number]);
  }
  return address;
}

}  // namespace tessera::on_demand
