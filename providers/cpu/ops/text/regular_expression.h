#pragma once

// Regular expressions of models: RE2, which matches in linear time, with the memory that it may take counted.

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/cancellation.h"
#include "base/check.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class RegularExpression {
 public:
  /// `longest`: of the matches at a place the longest counts, not the first. Throws Error where it is none, or is too
  /// large.
  RegularExpression(const KernelInfo& info, const std::string& pattern, bool longest = false) {
    for (const size_t bytes : {kUsualBytes, kMostBytes}) {
      charge_ = MemoryCharge(info.allocator(), bytes);
      expression_.emplace(pattern, Options(longest, bytes));
      if (expression_->error_code() != RE2::ErrorPatternTooLarge) break;
    }
    Require(expression_->ok(), "'{}' is not a regular expression: {}", pattern, expression_->error());
  }
  const RE2& operator*() const noexcept { return *expression_; }

  /// Before a text is matched: RE2 cannot be interrupted. Of most expressions it takes a few nanoseconds for a byte, of
  /// some six for a byte and an instruction of the program, and nothing tells which. Throws Error where the latter would be
  /// a matter of more than seconds.
  void CheckLength(std::string_view text) const {
    constexpr size_t kMostSteps = size_t{1} << 30;
    constexpr double kByteNs = 3;
    const auto instructions = static_cast<size_t>(std::max(expression_->ProgramSize(), 1));
    Require(text.size() <= kMostSteps / instructions,
            "a text of {} bytes is too long for this expression, a program of {} instructions: matching could not be "
            "stopped; split texts into parts of at most {} bytes",
            text.size(), instructions, kMostSteps / instructions);
    CountWork(kByteNs * static_cast<double>(text.size()));
  }

 private:
  /// Of its program, and of the automata that matching makes; large programs get RE2's own default.
  static constexpr size_t kUsualBytes = size_t{1} << 20, kMostBytes = size_t{8} << 20;

  static RE2::Options Options(bool longest, size_t bytes) {
    RE2::Options options(RE2::Quiet);
    options.set_longest_match(longest);
    options.set_max_mem(static_cast<int64_t>(bytes));
    return options;
  }

  MemoryCharge charge_;
  std::optional<RE2> expression_;
};

}  // namespace tessera::cpu
