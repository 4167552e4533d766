# Writes a source with the functions that objects want of a shared library: cmake -DNAME= -DSONAME= -DLIBRARY= -DOBJECTS= -DNM= -DOUTPUT=
# -P on_demand.cmake. Where that cannot be, as they want its data, too, the source is empty, and the linker names the library.

# names(VARIABLE TYPES ARGUMENTS...): the symbols of these types that nm lists.
function(names variable types)
  execute_process(COMMAND ${NM} ${ARGN} OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [${types}] [A-Za-z0-9_]+" found "${listed}")
  list(TRANSFORM found REPLACE "^ . " "")
  list(REMOVE_DUPLICATES found)
  list(SORT found)
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# common(VARIABLE A B): what is in both lists.
function(common variable a b)
  set(both ${a})
  set(rest ${a})
  list(REMOVE_ITEM rest ${b})
  list(REMOVE_ITEM both ${rest})
  set(${variable} ${both} PARENT_SCOPE)
endfunction()

list(FILTER OBJECTS INCLUDE REGEX "\\.o$")  # no precompiled headers
names(wanted U -u ${OBJECTS})
names(functions Ti -D --defined-only ${LIBRARY})
names(data BDRVGu -D --defined-only ${LIBRARY})
common(used "${wanted}" "${functions}")
common(used_data "${wanted}" "${data}")

list(LENGTH used count)
set(text "// What is wanted of ${SONAME}; written by cmake/on_demand.cmake.\n")
if(count GREATER 0 AND NOT used_data)
  set(name_list "")
  set(entries "")
  set(number 0)
  foreach(function ${used})
    string(APPEND name_list "    \"${function}\",\n")
    string(APPEND entries "ON_DEMAND_FUNCTION(${NAME}, ${number}, ${function});\n")
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND text "\n#include \"bindings/on_demand/stubs.h\"\n\nnamespace {\n\nconstexpr const char* kNames[] = {\n${name_list}};\n"
         "constexpr size_t kCount = ${count};\nconstinit tessera::on_demand::Library the_library{\"${SONAME}\", kNames};\n\n"
         "}  // namespace\n\nON_DEMAND_ENTRY(${NAME});\n${entries}")
endif()
file(WRITE ${OUTPUT} "${text}")
