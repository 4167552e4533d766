# libonnxruntime.so.1.31.1: what programs written for ONNX Runtime open, in front of libtessera.so (src/bindings/forwarder).
if(NOT BUILD_SHARED_LIBS)
  return()
endif()

set(TESSERA_ORT_VERSION 1.31.1)
# Programs that were linked with ONNX Runtime ask for the version node of the release that they were built with, in full or, with
# Debian's packages, by its first two numbers. The file defines them all, empty, and its symbols have none: that suits every one.
set(nodes "")
foreach(minor RANGE 14 32)
  string(APPEND nodes "VERS_1.${minor} {};\n")
  foreach(patch RANGE 0 9)
    string(APPEND nodes "VERS_1.${minor}.${patch} {};\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/onnxruntime.map CONTENT "${nodes}" @ONLY)

add_library(tessera_onnxruntime SHARED ${PROJECT_SOURCE_DIR}/src/bindings/forwarder/onnxruntime.cpp)
target_link_libraries(tessera_onnxruntime PRIVATE tessera)
target_compile_options(tessera_onnxruntime PRIVATE -fno-exceptions -fno-rtti)
target_link_options(tessera_onnxruntime PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/generated/onnxruntime.map -Wl,--as-needed
                                                -Wl,--enable-new-dtags)
set_target_properties(tessera_onnxruntime PROPERTIES
  OUTPUT_NAME onnxruntime VERSION ${TESSERA_ORT_VERSION} SOVERSION 1
  LINK_DEPENDS ${PROJECT_BINARY_DIR}/generated/onnxruntime.map
  # A folder of its own, which no linker looks into unless it is told to: whoever wants ONNX Runtime's file finds that.
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/onnxruntime
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../..;${CMAKE_INSTALL_FULL_LIBDIR}")
