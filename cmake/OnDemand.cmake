# What libtessera.so opens when it is first needed, so that a program that loads it does not wait for that.

# tessera_soname(VARIABLE LIBRARY): the name that programs load a shared library by; empty where that cannot be told.
function(tessera_soname variable library)
  set(${variable} "" PARENT_SCOPE)
  if(library MATCHES "\\.so" AND CMAKE_OBJDUMP)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers ERROR_QUIET)
    if(headers MATCHES "SONAME +([^ \n]+)")
      set(${variable} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Highway's library: the linker leaves it out where nothing but this needs it.
set(highway_soname "")
foreach(library ${TESSERA_HWY_LINK_LIBRARIES})
  if(library MATCHES "/libhwy\\.so")
    tessera_soname(highway_soname "${library}")
  endif()
endforeach()
if(highway_soname AND NOT TESSERA_SANITIZE)
  message(STATUS "Opened on demand: ${highway_soname}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/highway_library.h
       CONTENT "#pragma once\n\ninline constexpr char kHighwayLibrary[] = \"@highway_soname@\";\n" @ONLY)
  target_sources(tessera PRIVATE ${PROJECT_SOURCE_DIR}/src/bindings/on_demand/highway.cpp)
  target_include_directories(tessera PRIVATE ${PROJECT_BINARY_DIR}/generated)
  target_link_options(tessera PRIVATE -Wl,--as-needed)
endif()
