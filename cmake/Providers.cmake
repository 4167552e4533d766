# The static registry of execution providers, highest priority first: one line each. A provider NAME is the folder
# providers/NAME, built as one object library, and the factory that include/tessera/providers/NAME.h declares.
set(TESSERA_PROVIDERS)
set(TESSERA_PROVIDER_INCLUDES)
set(TESSERA_PROVIDER_FACTORIES)

# tessera_provider(NAME FACTORY [PACKAGE]): FACTORY is a function that returns const ProviderFactory&. With a PACKAGE, the
# provider is optional: see Optional.cmake.
function(tessera_provider name factory)
  if(ARGC GREATER 2)
    string(TOUPPER ${name} option)
    tessera_optional(${option} "provider ${name}" PACKAGE ${ARGV2})
    set(TESSERA_LEFT_OUT ${TESSERA_LEFT_OUT} PARENT_SCOPE)
    set(TESSERA_HAS_${option} ${TESSERA_HAS_${option}} PARENT_SCOPE)
    if(NOT TESSERA_HAS_${option})
      return()
    endif()
  endif()
  add_subdirectory(${PROJECT_SOURCE_DIR}/providers/${name})
  list(APPEND TESSERA_PROVIDERS ${name})
  string(APPEND TESSERA_PROVIDER_INCLUDES "#include \"tessera/providers/${name}.h\"\n")
  string(APPEND TESSERA_PROVIDER_FACTORIES "      &${factory}(),\n")
  set(TESSERA_PROVIDERS ${TESSERA_PROVIDERS} PARENT_SCOPE)
  set(TESSERA_PROVIDER_INCLUDES ${TESSERA_PROVIDER_INCLUDES} PARENT_SCOPE)
  set(TESSERA_PROVIDER_FACTORIES ${TESSERA_PROVIDER_FACTORIES} PARENT_SCOPE)
endfunction()

tessera_provider(opencl OpenclProviderFactory OpenCL)
tessera_provider(onednn OnednnProviderFactory dnnl)
tessera_provider(cpu CpuProviderFactory)

configure_file(${PROJECT_SOURCE_DIR}/cmake/provider_table.cpp.in ${PROJECT_BINARY_DIR}/generated/provider_table.cpp @ONLY)
