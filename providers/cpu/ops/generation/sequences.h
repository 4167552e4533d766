#pragma once

// The sequences that a search extends token by token.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::cpu {

class Sequences {
 public:
  Sequences(int64_t rows, std::span<const int32_t> tokens) : rows_(rows) {
    const size_t length = tokens.size() / static_cast<size_t>(std::max<int64_t>(rows, 1));
    for (int64_t i = 0; i < rows; ++i) {
      const auto row = tokens.subspan(static_cast<size_t>(i) * length, length);
      sequences_.emplace_back(row.begin(), row.end());
    }
    length_ = static_cast<int64_t>(length);
  }

  int64_t rows() const { return rows_; }
  int64_t length() const { return length_; }
  std::span<const int32_t> operator[](int64_t row) const { return sequences_[static_cast<size_t>(row)]; }

  /// Row i continues row sources[i], or itself where there are no sources, with tokens[i].
  void Append(std::span<const int32_t> tokens, std::span<const int32_t> sources = {}) {
    if (!sources.empty()) {
      std::vector<std::vector<int32_t>> chosen;
      for (const int32_t source : sources) chosen.push_back(sequences_[static_cast<size_t>(source)]);
      sequences_ = std::move(chosen);
    }
    for (size_t i = 0; i < sequences_.size(); ++i) sequences_[i].push_back(tokens[i]);
    ++length_;
  }

 private:
  int64_t rows_;
  int64_t length_ = 0;
  std::vector<std::vector<int32_t>> sequences_;
};

}  // namespace tessera::cpu
