# Installs the build tree into a scratch prefix, builds the toy provider there as a project of its own, and runs test cases of ONNX on it; any
# failing step fails the test.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/ ${TOY}.h ${TOY}.cpp DESTINATION ${WORK}/source)
run(${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${WORK}/source -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} --build ${WORK}/build)
set(cases)
foreach(case add mul mul_example neg neg_example identity reshape_reordered_all_dims reshape_extended_dims)
  list(APPEND cases ${DATA}/test_${case})
endforeach()
run(${WORK}/build/conformance ${cases})
