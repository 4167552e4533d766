# Flags of every target. One binary runs on any x86-64 with SSE4.2; wider vectors are chosen at run time, so nothing here
# may raise the baseline further.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
# Of libstdc++'s own stable_sort.
add_compile_options($<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)
endif()
if(NOT TESSERA_SANITIZE)
  # -O3 is for kernels, which ask for it (tessera_kernel_options); elsewhere it takes a sixth longer to compile and runs no faster.
  add_compile_options($<$<CONFIG:Release>:-O2>)
else()
  # At -O3 the checks in the vector kernels take five times as long to compile and find nothing more.
  add_compile_options(-O1 -fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND TESSERA_SANITIZE MATCHES "address")
    add_compile_options(-fsanitize=fuzzer-no-link)  # what tests/fuzz steer by
    add_compile_definitions(__SANITIZE_ADDRESS__)   # GCC's word for it
  endif()
  # A sanitizer looks at what runs: kernels that this machine cannot run would only take their third of the compiler's time.
  if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo TESSERA_AVX512 REGEX "^flags.* avx512f" LIMIT_COUNT 1)
    if(NOT TESSERA_AVX512)
      add_compile_definitions(TESSERA_NO_AVX512)
    endif()
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Files that use a precompiled header are only cached on these terms. CCACHE_DEPEND: a result serves the same headers to the
  # byte; otherwise a precompiled header would be taken from before a comment changed, and `#pragma once` not know that file again.
  # CCACHE_BASEDIR, CCACHE_NOHASHDIR: every checkout on a machine shares what another has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
                                  CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

# What compiles loops over elements: -fno-math-errno and -fno-trapping-math let them vectorize without changing results, which
# -ffast-math would.
function(tessera_kernel_options target)
  target_compile_options(${target} PRIVATE -fno-math-errno -fno-trapping-math)
  if(NOT TESSERA_SANITIZE)
    target_compile_options(${target} PRIVATE -O3)
  endif()
endfunction()
