#include "command_line/closest.h"

#include "base/edit_distance.h"

namespace tessera {

std::string DidYouMean(std::string_view word, std::span<const std::string> known) {
  constexpr size_t kLongest = 64;  // no name is longer
  const std::string* closest = nullptr;
  size_t least = word.size() / 3 + 2;  // as many letters differ in words that are no misspelling
  for (const std::string& name : known) {
    const size_t distance = word.size() > kLongest ? least : EditDistance(word, name);
    if (distance >= least || distance >= name.size()) continue;
    least = distance;
    closest = &name;
  }
  return closest == nullptr ? std::string() : "; did you mean '" + *closest + "'?";
}

}  // namespace tessera
