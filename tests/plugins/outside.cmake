# Installs the build tree's headers into a scratch prefix and builds the teaching provider against them, as a reader of its page would; then
# runs test cases of ONNX on it. Any failing step fails the test.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE} DESTINATION ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${WORK}/plugin_provider -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_FLAGS=-Werror)
run(${CMAKE_COMMAND} --build ${WORK}/build)
set(cases)
foreach(case add add_bcast mul relu sigmoid sigmoid_example matmul_2d)
  list(APPEND cases ${DATA}/test_${case})
endforeach()
run(${RUNNER} --plugin ${WORK}/build/libteaching_provider.so -e TeachingExecutionProvider --least-share 100 ${cases})
