# The static registry of execution providers, highest priority first: one line each. A provider NAME is the folder
# providers/NAME, built as one object library, and the factory that include/tessera/providers/NAME.h declares.
set(TESSERA_PROVIDERS)
set(TESSERA_PROVIDER_INCLUDES)
set(TESSERA_PROVIDER_FACTORIES)

# tessera_provider(NAME FACTORY): FACTORY is a function that returns const ProviderFactory&.
function(tessera_provider name factory)
  add_subdirectory(${PROJECT_SOURCE_DIR}/providers/${name})
  list(APPEND TESSERA_PROVIDERS ${name})
  string(APPEND TESSERA_PROVIDER_INCLUDES "#include \"tessera/providers/${name}.h\"\n")
  string(APPEND TESSERA_PROVIDER_FACTORIES "      &${factory}(),\n")
  set(TESSERA_PROVIDERS ${TESSERA_PROVIDERS} PARENT_SCOPE)
  set(TESSERA_PROVIDER_INCLUDES ${TESSERA_PROVIDER_INCLUDES} PARENT_SCOPE)
  set(TESSERA_PROVIDER_FACTORIES ${TESSERA_PROVIDER_FACTORIES} PARENT_SCOPE)
endfunction()

tessera_provider(opencl OpenclProviderFactory)
tessera_provider(onednn OnednnProviderFactory)
tessera_provider(cpu CpuProviderFactory)

configure_file(${PROJECT_SOURCE_DIR}/cmake/provider_table.cpp.in ${PROJECT_BINARY_DIR}/generated/provider_table.cpp @ONLY)
