# Writes OUTPUT, a C++ file with each of SOURCES as a raw string, found by its name without suffix.
set(text "// Generated from providers/opencl/*/*.cl.\n#include \"opencl/device/sources.h\"\n\nnamespace tessera::opencl {\n\nstd::string_view KernelSource(std::string_view name) {\n")
foreach(source ${SOURCES})
  get_filename_component(name ${source} NAME_WE)
  file(READ ${source} body)
  string(APPEND text "  if (name == \"${name}\") {\n    return R\"__CL__(${body})__CL__\";\n  }\n")
endforeach()
string(APPEND text "  return {};\n}\n\n}  // namespace tessera::opencl\n")
file(WRITE ${OUTPUT} "${text}")
