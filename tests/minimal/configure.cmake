# Configures the tree without its optional parts, in two ways, and looks at what CMake says; builds nothing.
set(parts RE2 UTF8PROC JPEG PNG TIFF WEBP OPENJPEG OPENCL ONEDNN)

# configure(NAME SUCCEEDS OPTION...): sets `output`; SUCCEEDS says whether CMake should.
function(configure name succeeds)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/${name} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DTESSERA_DEPS=${DEPS}
                          -DTESSERA_BUILD_TESTS=OFF -DTESSERA_BUILD_BENCHMARKS=OFF ${ARGN}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(success OFF)
  if(result EQUAL 0)
    set(success ON)
  endif()
  if(NOT success STREQUAL succeeds)
    message(FATAL_ERROR "${name}: ended with ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect name pattern)
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "${name}: '${pattern}' is not in\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
set(options)
foreach(part ${parts})
  list(APPEND options -DTESSERA_${part}=OFF)
endforeach()
configure(off ON ${options})
foreach(part ${parts})
  expect(off "Left out: [^\n]+; TESSERA_${part} is OFF\n")
endforeach()

# A machine that has nothing but what is required.
foreach(module libhwy libxxhash)
  execute_process(COMMAND pkg-config --variable=pcfiledir ${module} OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(COPY ${folder}/${module}.pc DESTINATION ${WORK}/packages)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} ${WORK}/packages)
set(without -DCMAKE_DISABLE_FIND_PACKAGE_OpenCL=ON -DCMAKE_DISABLE_FIND_PACKAGE_dnnl=ON)
configure(missing ON ${without})
foreach(library re2 libutf8proc libjpeg libpng libtiff-4 libwebp libopenjp2 OpenCL dnnl)
  expect(missing "Left out: [^\n]+; ${library} is not installed\n")
endforeach()
configure(insisting OFF ${without} -DTESSERA_RE2=ON)
expect(insisting "re2")
