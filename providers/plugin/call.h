#pragma once

#include <utility>

namespace tessera::plugin {

/// Calls a function of a library's. The interface's types say of most that they throw nothing, and compilers leave out what
/// would catch it; libraries that are compiled as C++14 throw all the same.
template <class Result, class... Parameters, class... Arguments>
Result Call(Result (*function)(Parameters...), Arguments&&... arguments) {
  return function(std::forward<Arguments>(arguments)...);
}

/// Gives something back to a library. What it throws is lost: nobody is left to hear of it.
template <class Release>
void Quietly(const Release& release) noexcept {
  try {
    release();
  } catch (...) {
  }
}

}  // namespace tessera::plugin
