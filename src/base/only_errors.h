#pragma once

#include <exception>
#include <new>
#include <utility>

#include "tessera/error.h"

namespace tessera {

/// Calls `body`, at the border to the application: what it throws leaves as an Error, also memory that ran out where no
/// node was at work, and what other libraries throw.
template <class Body>
decltype(auto) OnlyErrors(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kRuntimeException, "out of memory");
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kRuntimeException, error.what());
  }
}

}  // namespace tessera
