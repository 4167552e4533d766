# What most files of a target include, parsed once instead of in each: a quarter of the work of a cold build. Sources still
# include what they use; -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without and shows what they forgot.
#
# Highway's headers stay out: they are read anew for each instruction set. So do this tree's own: a precompiled header knows where
# they lay, and the compiler cache would serve those of one checkout to another. Clang names them by their whole path, so that
# no checkout would find another's objects: it goes without.
function(tessera_precompile_headers target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <cmath> <cstring> <functional> <limits> <map>
                            <memory> <mutex> <optional> <set> <span> <string> <unordered_map> <variant> <vector>
                            <fmt/format.h> ${ARGN})
endfunction()
