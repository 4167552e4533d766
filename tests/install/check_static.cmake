# The static library as it is installed: its package files are those of a tree configured with BUILD_SHARED_LIBS=OFF, the archive that of this
# build, which has the same objects (cmake/Library.cmake). An application links it by CMake and by pkg-config, and runs.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# The program needs other libraries, but not Tessera's.
function(check program)
  run(${program} ${MODEL})
  run(ldd ${program})
  if(output MATCHES "libtessera")
    message(FATAL_ERROR "${program} is linked with the shared library\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} -S ${TREE} -B ${WORK}/tree -G ${GENERATOR} -DBUILD_SHARED_LIBS=OFF -DTESSERA_BUILD_TESTS=OFF -DTESSERA_BUILD_BENCHMARKS=OFF
    -DCMAKE_CXX_COMPILER=${CXX} -DTESSERA_DEPS=${DEPS} ${OPTIONS})
file(MAKE_DIRECTORY ${WORK}/tree/lib)
file(CREATE_LINK ${ARCHIVE} ${WORK}/tree/lib/libtessera.a COPY_ON_ERROR)
run(${CMAKE_COMMAND} --install ${WORK}/tree --component library --prefix ${WORK}/prefix)

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} --build ${WORK}/build)
check(${WORK}/build/application)

file(GLOB pc ${WORK}/prefix/lib*/pkgconfig ${WORK}/prefix/lib*/*/pkgconfig)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc} pkg-config --static --cflags --libs tessera)
string(STRIP "${output}" flags)
separate_arguments(flags)
run(${CXX} ${SOURCE}/main.cpp -o ${WORK}/application_pc ${flags})
check(${WORK}/application_pc)
