// Another version of a library that Tessera opens on demand, as plugins have them inside, and show to whoever is opened
// after them: what of re2's own calls comes here ends the process.

#include <cstdlib>

namespace re2 {

class StringPiece;

class __attribute__((visibility("default"))) RE2 {
 public:
  class Options;

  void Init(const StringPiece& pattern, const Options& options);
};

void RE2::Init(const StringPiece& /*pattern*/, const Options& /*options*/) { std::abort(); }

}  // namespace re2
