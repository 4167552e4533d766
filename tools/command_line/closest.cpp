#include "command_line/closest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace tessera {
namespace {

/// Letters to write, to leave out or to change until one word is the other.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string DidYouMean(std::string_view word, std::span<const std::string> known) {
  constexpr size_t kLongest = 64;  // no name is longer
  const std::string* closest = nullptr;
  size_t least = word.size() / 3 + 2;  // as many letters differ in words that are no misspelling
  for (const std::string& name : known) {
    const size_t distance = word.size() > kLongest ? least : Distance(word, name);
    if (distance >= least || distance >= name.size()) continue;
    least = distance;
    closest = &name;
  }
  return closest == nullptr ? std::string() : "; did you mean '" + *closest + "'?";
}

}  // namespace tessera
