// Calls every entry of the tables with nothing but zeros, and with what another kind of object is, each in a process of its
// own, and prints which the process survives: a line "table place kind: end".
//
// usage: null_calls LIBRARY

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "end_of.h"
#include "library.h"

namespace {

using Entry = uintptr_t (*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                            uintptr_t, uintptr_t);

void CallAll(const char* table, const void* first, size_t count) {
  const auto* entries = static_cast<const Entry*>(first);
  for (size_t i = 0; i < count; ++i) {
    const char* end = EndOf([&] { entries[i](0, 0, 0, 0, 0, 0, 0, 0, 0, 0); });
    std::printf("%s %zu nothing: %s\n", table, i, end);
    // Room for whatever is written, and nothing that any object would have.
    const char* room = EndOf([&] {
      static uintptr_t zeros[64];
      const auto at = reinterpret_cast<uintptr_t>(zeros);
      entries[i](0, at, at, at, at, at, at, at, at, at);
    });
    std::printf("%s %zu first: %s\n", table, i, room);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  const OrtApi& api = OpenLibrary(argv[1]);
  CallAll("OrtApi", &api, sizeof(OrtApi) / sizeof(Entry));
  CallAll("OrtModelEditorApi", api.GetModelEditorApi(), sizeof(OrtModelEditorApi) / sizeof(Entry));
  CallAll("OrtCompileApi", api.GetCompileApi(), sizeof(OrtCompileApi) / sizeof(Entry));
  CallAll("OrtEpApi", api.GetEpApi(), sizeof(OrtEpApi) / sizeof(Entry));
  CallAll("OrtInteropApi", api.GetInteropApi(), sizeof(OrtInteropApi) / sizeof(Entry));
  CallAll("OrtModelPackageApi", api.GetModelPackageApi(), sizeof(OrtModelPackageApi) / sizeof(Entry));
}
