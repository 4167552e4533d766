#pragma once

// Entries with nothing behind them: they say what to do instead.

#include "bindings/c/entry.h"

namespace tessera::c_abi {

struct Refusal {
  OrtErrorCode code;
  const char* entry;
  const char* advice;
};

OrtStatusPtr Refuse(const Refusal& refusal) noexcept;

/// A function of an entry's type that answers with the refusal, or, where it has no status to answer with, with nothing.
template <const Refusal& refusal, class Function>
struct Refused;

template <const Refusal& refusal, class Result, class... Arguments>
struct Refused<refusal, Result (*)(Arguments...)> {
  static Result Answer(Arguments... /*arguments*/) {
    if constexpr (std::is_same_v<Result, OrtStatusPtr>) {
      return Refuse(refusal);
    } else {
      return Result();
    }
  }
};

template <const Refusal& refusal, class Result, class... Arguments>
struct Refused<refusal, Result (*)(Arguments...) noexcept> {
  static Result Answer(Arguments... arguments) noexcept {
    return Refused<refusal, Result (*)(Arguments...)>::Answer(arguments...);
  }
};

}  // namespace tessera::c_abi
