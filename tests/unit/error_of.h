#pragma once

#include <string>

#include "tessera/error.h"

namespace tessera::testing {

/// What `f` says when it throws an Error, or "no error".
template <class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tessera::testing
