// Tokenizer, com.microsoft, version 1: texts' parts between separators, or that match an expression, padded to one length.

#include <re2/re2.h>

#include <memory>
#include <vector>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/string_memory.h"
#include "cpu/ops/text/regular_expression.h"
#include "cpu/ops/text/utf8.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

constexpr char kStart = 2, kEnd = 3;  // of text, in ASCII

using Tokens = std::vector<std::string_view>;

/// Calls found(begin, end) for each match that is not empty, from the left; they do not overlap.
template <class F>
void ForEachMatch(const RegularExpression& expression, std::string_view text, F found) {
  expression.CheckLength(text);
  re2::StringPiece match;
  for (size_t at = 0;
       at < text.size() && (*expression).Match({text.data(), text.size()}, at, text.size(), RE2::UNANCHORED, &match, 1);) {
    CancellationPoint();  // what follows a match may be looked at to the end of the text
    const auto begin = static_cast<size_t>(match.data() - text.data());
    if (match.empty()) {
      if (begin == text.size()) return;
      at = begin + FirstCharacter(text.substr(begin), text).bytes;
    } else {
      at = begin + match.size();
      found(begin, at);
    }
  }
}

std::unique_ptr<const RegularExpression> Longest(const KernelInfo& info, const std::string& pattern) {
  return std::make_unique<const RegularExpression>(info, pattern, /*longest=*/true);
}

class Tokenizer final : public Kernel {
 public:
  explicit Tokenizer(const KernelInfo& info)
      : mark_(info.attribute<int64_t>("mark") != 0),
        fewest_(info.attribute<int64_t>("mincharnum")),
        padding_(info.attribute<std::string>("pad_value")) {
    const auto separators = info.attribute<std::vector<std::string>>("separators", {});
    const auto expression = info.attribute<std::string>("tokenexp", "");
    Require(fewest_ > 0, "attribute 'mincharnum' is {}, which must be positive", fewest_);
    Require(separators.empty() != expression.empty(), "attribute 'separators' or 'tokenexp' is expected, and not both");
    by_character_ = expression == "." || (separators.size() == 1 && separators[0].empty());
    Require(!by_character_ || fewest_ == 1, "attribute 'mincharnum' is {}, but each token is one character", fewest_);
    if (by_character_) return;
    if (!expression.empty()) expression_ = Longest(info, expression);
    for (const std::string& separator : separators) {
      Require(!separator.empty(), "attribute 'separators' holds an empty one beside others");
      separators_.push_back(Longest(info, separator));
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.shape().rank() == 1 || x.shape().rank() == 2, "the input is {}; [C] or [N,C] is expected", x.shape());
    const std::span<const std::string> texts = x.values<std::string>();
    // Lists of tokens, one of which is at least a byte, double as they grow.
    size_t bytes = CheckedMul(texts.size(), sizeof(Tokens));
    for (const std::string& text : texts)
      bytes = CheckedAdd(bytes, CheckedMul(text.size() + 1, 2 * sizeof(std::string_view)));
    const MemoryCharge charge(context.allocator(), bytes);
    std::vector<Tokens> tokens(texts.size());
    context.threads().ParallelFor(x.num_elements(), 500, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) tokens[i] = Split(texts[i]);
    });
    size_t longest = 0;
    for (const Tokens& row : tokens) longest = std::max(longest, row.size());
    const size_t length = longest == 0 ? 0 : longest + (mark_ ? 2 : 0);
    Shape shape = x.shape();
    shape.Append(static_cast<int64_t>(length));
    Tensor* y = context.output(0, shape);
    if (y == nullptr || length == 0) return;
    StringCharge written(*y, context.allocator());
    for (const Tokens& row : tokens)
      written.Add(CheckedAdd(TextBytes(row), CheckedMul(length - row.size(), TextBytes(padding_.size()))));
    std::string* out = y->mutable_data<std::string>();
    PacedCancellationPoint look(20);
    for (const Tokens& row : tokens) {
      look.Pass(static_cast<int64_t>(length));
      const std::string* end = out + length;
      if (mark_) (out++)->assign(1, kStart);
      for (const std::string_view token : row) *out++ = token;
      if (mark_) (out++)->assign(1, kEnd);
      while (out != end) *out++ = padding_;
    }
  }

 private:
  Tokens Split(std::string_view text) const {
    Tokens tokens;
    if (by_character_) {
      PacedCancellationPoint look(5);
      for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(tokens.back().size())) {
        look.Pass();
        tokens.push_back(rest.substr(0, FirstCharacter(rest, text).bytes));
      }
    } else if (expression_ != nullptr) {
      ForEachMatch(*expression_, text, [&](size_t begin, size_t end) { Keep(text.substr(begin, end - begin), tokens); });
    } else {
      tokens.push_back(text);
      for (const auto& separator : separators_) tokens = SplitAt(*separator, tokens);
    }
    return tokens;
  }

  Tokens SplitAt(const RegularExpression& separator, const Tokens& parts) const {
    Tokens tokens;
    for (const std::string_view part : parts) {
      size_t at = 0;
      ForEachMatch(separator, part, [&](size_t begin, size_t end) {
        Keep(part.substr(at, begin - at), tokens);
        at = end;
      });
      Keep(part.substr(at), tokens);
    }
    return tokens;
  }

  void Keep(std::string_view token, Tokens& tokens) const {
    if (CountCharacters(token) >= fewest_) tokens.push_back(token);
  }

  bool mark_;
  int64_t fewest_;
  std::string padding_;
  bool by_character_ = false;
  std::unique_ptr<const RegularExpression> expression_;
  std::vector<std::unique_ptr<const RegularExpression>> separators_;
};

}  // namespace

void RegisterTokenizer(KernelRegistry& registry) {
  registry.Add(Op("Tokenizer", "com.microsoft").Types(0, {ElementType::kString}).Make<Tokenizer>());
}

}  // namespace tessera::cpu
