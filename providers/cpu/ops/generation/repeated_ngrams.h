#pragma once

#include <cstdint>
#include <span>

#include "base/cancellation.h"

namespace tessera::cpu {

/// Calls visit(token) for each token that would repeat an n-gram of `size` tokens that the sequence holds already, as often
/// as it does.
template <class Token, class Visit>
void ForEachRepeatedNgram(std::span<const Token> sequence, int64_t size, const Visit& visit) {
  if (size > static_cast<int64_t>(sequence.size())) return;  // no n-gram so far
  const auto tail = sequence.end() - (size - 1);
  PacedCancellationPoint look(3);
  const auto is_tail = [&](auto at) {
    for (auto wanted = tail; wanted != sequence.end(); ++wanted, ++at, look.Pass()) {
      if (*wanted != *at) return false;
    }
    return true;
  };
  for (auto at = sequence.begin(); sequence.end() - at >= size; ++at) {
    look.Pass();
    if (is_tail(at)) visit(at[size - 1]);
  }
}

}  // namespace tessera::cpu
