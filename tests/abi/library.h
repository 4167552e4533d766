#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "onnxruntime/onnxruntime_c_api.h"

/// The table of the library at the path, which stays open; ends the program where there is none.
inline const OrtApi& OpenLibrary(const char* path, void** handle = nullptr) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  auto* base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (base == nullptr || base()->GetApi(ORT_API_VERSION) == nullptr) {
    std::fprintf(stderr, "%s has no table of version %d\n", path, ORT_API_VERSION);
    std::exit(2);
  }
  if (handle != nullptr) *handle = library;
  return *base()->GetApi(ORT_API_VERSION);
}
