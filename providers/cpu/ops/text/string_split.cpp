// StringSplit (20): like Python's str.split; the pieces are padded with empty strings to one length.

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/checked.h"
#include "base/string_memory.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class StringSplit final : public Kernel {
 public:
  explicit StringSplit(const KernelInfo& info)
      : delimiter_(info.attribute<std::string>("delimiter", "")),
        most_(info.has_attribute("maxsplit") ? info.attribute<int64_t>("maxsplit") : -1) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    std::vector<std::vector<std::string_view>> pieces;
    MemoryCharge charge(context.allocator(), CheckedMul(static_cast<size_t>(x.num_elements()), sizeof(pieces[0])));
    pieces.reserve(static_cast<size_t>(x.num_elements()));
    size_t longest = 0, bytes = 0;
    for (const std::string& text : x.values<std::string>()) {
      CancellationPoint();
      charge.Add(CheckedMul(MostPieces(text), 2 * sizeof(std::string_view)));  // while the list grows
      pieces.push_back(delimiter_.empty() ? SplitAtSpace(text) : SplitAtDelimiter(text));
      longest = std::max(longest, pieces.back().size());
      bytes += TextBytes(pieces.back());
    }
    Shape shape = x.shape();
    shape.Append(static_cast<int64_t>(longest));
    Tensor& y = *context.output(0, shape);
    StringCharge(y, context.allocator()).Add(bytes);
    Tensor* counts = context.output(1, x.shape());
    PacedCancellationPoint look(20);
    for (size_t i = 0; i < pieces.size(); ++i) {
      look.Pass(static_cast<int64_t>(longest) + 1);
      std::string* row = y.mutable_data<std::string>() + i * longest;
      for (size_t j = 0; j < longest; ++j) row[j] = j < pieces[i].size() ? pieces[i][j] : std::string_view();
      if (counts != nullptr) counts->mutable_data<int64_t>()[i] = static_cast<int64_t>(pieces[i].size());
    }
  }

 private:
  size_t MostPieces(std::string_view text) const {
    const size_t separated = text.size() / std::max<size_t>(delimiter_.size(), 1) + 1;
    return most_ < 0 ? separated : std::min(separated, static_cast<size_t>(most_) + 1);
  }

  bool MaySplit(size_t done) const { return most_ < 0 || static_cast<int64_t>(done) < most_; }

  /// Runs of white space separate; none is kept at either end.
  std::vector<std::string_view> SplitAtSpace(std::string_view text) const {
    std::vector<std::string_view> pieces;
    size_t at = 0;
    PacedCancellationPoint look(2);
    for (size_t before = 0;; before = at) {
      look.Pass(static_cast<int64_t>(at - before));
      while (at < text.size() && IsSpace(text[at])) ++at;
      if (at == text.size()) return pieces;
      if (!MaySplit(pieces.size())) {
        pieces.push_back(text.substr(at));  // as in Python, the rest keeps its white space, at its end too
        return pieces;
      }
      const size_t begin = at;
      while (at < text.size() && !IsSpace(text[at])) ++at;
      pieces.push_back(text.substr(begin, at - begin));
    }
  }

  std::vector<std::string_view> SplitAtDelimiter(std::string_view text) const {
    std::vector<std::string_view> pieces;
    if (text.empty()) return {text};
    while (MaySplit(pieces.size())) {
      const size_t found = Find(text);
      if (found == std::string_view::npos) break;
      pieces.push_back(text.substr(0, found));
      text.remove_prefix(found + delimiter_.size());
    }
    pieces.push_back(text);
    return pieces;
  }

  /// Where the delimiter is first, or npos. In linear time, which std::string_view::find does not promise, and in pieces
  /// that a cancelled run need not wait for.
  size_t Find(std::string_view text) const {
    constexpr size_t kFewest = size_t{1} << 18;
    const size_t piece = std::max(kFewest, 4 * delimiter_.size());
    for (size_t begin = 0; begin < text.size(); begin += piece) {
      const std::string_view part = text.substr(begin, piece + delimiter_.size() - 1);
      const void* found = memmem(part.data(), part.size(), delimiter_.data(), delimiter_.size());
      if (found != nullptr) {
        const auto at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
        CountWork(20 + static_cast<double>(at - begin));
        return at;
      }
      CountWork(static_cast<double>(part.size()));
    }
    return std::string_view::npos;
  }

  std::string delimiter_;
  int64_t most_;
};

}  // namespace

void RegisterStringSplit(KernelRegistry& registry) {
  registry.Add(Op("StringSplit").Versions(20).Types(0, {ElementType::kString}).Make<StringSplit>());
}

}  // namespace tessera::cpu
