# What libtessera.so opens when it is first needed, so that a program that loads it does not wait for that.
option(TESSERA_ON_DEMAND "Open libraries of one provider or operator when they are first needed; OFF: the linker names them, for who packs them" ON)
set(TESSERA_OPENED_ON_DEMAND "")
if(NOT TESSERA_ON_DEMAND OR TESSERA_SANITIZE OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  return()
endif()
# The linker leaves out what nothing but stubs need.
target_link_options(tessera PRIVATE -Wl,--as-needed)

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

# tessera_on_demand(NAME LIBRARY OBJECTS): the functions that this library of objects calls in the other come from stubs.
function(tessera_on_demand name library objects)
  tessera_soname(soname "${library}")
  if(NOT soname)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/generated/on_demand_${name}.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/on_demand.cmake)
  add_custom_command(OUTPUT ${source}
                     COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DSONAME=${soname} -DLIBRARY=${library} "-DOBJECTS=$<TARGET_OBJECTS:${objects}>"
                             -DNM=${CMAKE_NM} -DOUTPUT=${source} -P ${script}
                     DEPENDS ${script} ${library} $<TARGET_OBJECTS:${objects}> VERBATIM)
  target_sources(tessera PRIVATE ${source})
  set(TESSERA_OPENED_ON_DEMAND ${TESSERA_OPENED_ON_DEMAND} ${soname} PARENT_SCOPE)
endfunction()

# tessera_file_of(VARIABLE TARGET): the library that an imported target links.
function(tessera_file_of variable target)
  set(${variable} "" PARENT_SCOPE)
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(file ${target} INTERFACE_LINK_LIBRARIES)
    else()
      get_target_property(file ${target} LOCATION)
    endif()
    set(${variable} "${file}" PARENT_SCOPE)
  endif()
endfunction()

if(TARGET tessera_onednn)
  tessera_file_of(dnnl_file DNNL::dnnl)
  tessera_on_demand(dnnl "${dnnl_file}" tessera_onednn)
endif()
if(TARGET tessera_opencl)
  tessera_file_of(opencl_file OpenCL::OpenCL)
  tessera_on_demand(opencl "${opencl_file}" tessera_opencl)
endif()
foreach(library RE2 UTF8PROC JPEG PNG TIFF WEBP OPENJPEG)
  if(TESSERA_HAS_${library})
    tessera_file_of(file PkgConfig::TESSERA_${library})
    list(FILTER file INCLUDE REGEX "\\.so")
    list(GET file 0 file)
    string(TOLOWER ${library} name)
    tessera_on_demand(${name} "${file}" tessera_cpu_optional)
  endif()
endforeach()
if(TESSERA_OPENED_ON_DEMAND)
  target_sources(tessera PRIVATE ${PROJECT_SOURCE_DIR}/src/bindings/on_demand/stubs.cpp)
endif()

# Highway's library, of which two functions are needed, is not.
target_sources(tessera PRIVATE ${PROJECT_SOURCE_DIR}/src/bindings/on_demand/highway.cpp)
message(STATUS "Opened on demand: ${TESSERA_OPENED_ON_DEMAND}")
