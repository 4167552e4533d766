# libtessera.so, or libtessera.a, from the layers' and providers' objects; tessera_internal is the same code with every symbol visible,
# for unit tests and micro-benchmarks.
set(objects $<TARGET_OBJECTS:tessera_core> $<TARGET_OBJECTS:tessera_kernels> $<TARGET_OBJECTS:tessera_cpu_optional>
    $<TARGET_OBJECTS:tessera_plugin>)
set(libraries tessera_core_deps)
foreach(provider ${TESSERA_PROVIDERS})
  list(APPEND objects $<TARGET_OBJECTS:tessera_${provider}>)
  list(APPEND libraries tessera_${provider}_deps)
endforeach()

add_library(tessera ${objects} ${PROJECT_BINARY_DIR}/generated/provider_table.cpp)
add_library(Tessera::tessera ALIAS tessera)
target_include_directories(tessera PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(tessera PUBLIC cxx_std_20)  # for who includes the headers, too
target_link_libraries(tessera PRIVATE "$<BUILD_INTERFACE:${libraries}>")
if(BUILD_SHARED_LIBS)
  # The onnx and protobuf code inside must not meet another copy in the same process.
  target_link_options(tessera PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,defs)
  # Its functions call each other as they are, not by a name that another library could take over: no look-up for each when the
  # library is loaded, and none of the detours by which calls of exported functions would go.
  target_link_options(tessera PRIVATE -Wl,-Bsymbolic-functions)
  # Stays loaded after dlclose: threads that run its code (the spin throttle's, those of pools that the process never ends) and
  # state of libraries inside would outlive it.
  target_link_options(tessera PRIVATE -Wl,-z,nodelete)
  if(TESSERA_SANITIZE)
    set_property(TARGET tessera PROPERTY LINK_OPTIONS -fsanitize=${TESSERA_SANITIZE} -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
  endif()
  include(OnDemand)
  set_target_properties(tessera PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
else()
  include(StaticPackage)
  list(TRANSFORM TESSERA_LINKED REPLACE "(.+)" "$<INSTALL_INTERFACE:\\1>")
  target_link_libraries(tessera PRIVATE ${TESSERA_LINKED})
endif()

add_library(tessera_internal STATIC ${objects} ${PROJECT_BINARY_DIR}/generated/provider_table.cpp)
target_include_directories(tessera_internal PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                                   ${PROJECT_SOURCE_DIR}/providers)
target_link_libraries(tessera_internal PUBLIC ${libraries})
