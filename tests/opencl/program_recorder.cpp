// Preloaded before a program: writes each OpenCL program that it makes from source into the folder
// $TESSERA_RECORD_PROGRAMS.

#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

extern "C" __attribute__((visibility("default"))) cl_program clCreateProgramWithSource(cl_context context, cl_uint count,
                                                                                       const char** texts,
                                                                                       const size_t* sizes,
                                                                                       cl_int* status) {
  if (const char* folder = std::getenv("TESSERA_RECORD_PROGRAMS")) {
    std::string program;
    for (cl_uint i = 0; i < count; ++i) {
      const bool terminated = sizes == nullptr || sizes[i] == 0;
      program += terminated ? std::string(texts[i]) : std::string(texts[i], sizes[i]);
    }
    std::ofstream(std::filesystem::path(folder) / (std::to_string(std::hash<std::string>()(program)) + ".cl")) << program;
  }
  const auto next = reinterpret_cast<decltype(&clCreateProgramWithSource)>(dlsym(RTLD_NEXT, "clCreateProgramWithSource"));
  return next(context, count, texts, sizes, status);
}
