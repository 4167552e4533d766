// StringNormalizer (10): drops stop words and changes case. Case follows Unicode's simple mappings, which no locale that
// ONNX names changes; ill-formed UTF-8 is an error.

#include <vector>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/seeded_hash.h"
#include "base/string_memory.h"
#include "cpu/ops/text/utf8.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

enum class CaseChange { kNone, kLower, kUpper };

std::string ChangeCase(const std::string& text, CaseChange change) {
  if (change == CaseChange::kNone) return text;
  std::string result;
  result.reserve(text.size());
  PacedCancellationPoint look(20);
  for (std::string_view rest = text; !rest.empty();) {
    look.Pass();
    const auto [code, bytes] = FirstCharacter(rest, text);
    rest.remove_prefix(bytes);
    utf8proc_uint8_t encoded[4];
    const utf8proc_ssize_t written =
        utf8proc_encode_char(change == CaseChange::kLower ? utf8proc_tolower(code) : utf8proc_toupper(code), encoded);
    result.append(reinterpret_cast<const char*>(encoded), static_cast<size_t>(written));
  }
  return result;
}

CaseChange ParseAction(const std::string& name) {
  if (name == "LOWER") return CaseChange::kLower;
  if (name == "UPPER") return CaseChange::kUpper;
  Require(name == "NONE", "case_change_action is '{}', expected LOWER, UPPER or NONE", name);
  return CaseChange::kNone;
}

class StringNormalizer final : public Kernel {
 public:
  explicit StringNormalizer(const KernelInfo& info)
      : action_(ParseAction(info.attribute<std::string>("case_change_action", "NONE"))),
        case_sensitive_(info.attribute<int64_t>("is_case_sensitive", 0) != 0),
        // Without case sensitivity both sides are compared in one case: the output's, or lower where it keeps its own.
        compare_case_(action_ == CaseChange::kNone ? CaseChange::kLower : action_) {
    for (const std::string& word : info.attribute<std::vector<std::string>>("stopwords", {})) {
      stop_words_.insert(case_sensitive_ ? word : ChangeCase(word, compare_case_));
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() == 1 || (shape.rank() == 2 && shape[0] == 1), "the input is {}; [C] or [1,C] is expected", shape);
    // A character may grow from one byte to three.
    MemoryCharge charge(context.allocator(), CheckedMul<size_t>(TextBytes(x.values<std::string>()), 4));
    std::vector<std::string> kept;
    kept.reserve(static_cast<size_t>(x.num_elements()) + 1);
    PacedCancellationPoint look(50);
    for (const std::string& text : x.values<std::string>()) {
      look.Pass();
      const bool stops =
          !stop_words_.empty() && stop_words_.contains(case_sensitive_ ? text : ChangeCase(text, compare_case_));
      if (!stops) kept.push_back(ChangeCase(text, action_));
    }
    if (kept.empty()) kept.emplace_back();  // an empty result is one empty string
    const auto count = static_cast<int64_t>(kept.size());
    Tensor& y = *context.output(0, shape.rank() == 1 ? Shape{count} : Shape{1, count});
    StringCharge(y, context.allocator()).Add(TextBytes(kept));
    std::move(kept.begin(), kept.end(), y.mutable_data<std::string>());
  }

 private:
  CaseChange action_;
  bool case_sensitive_;
  CaseChange compare_case_;
  StringSet stop_words_;
};

}  // namespace

void RegisterStringNormalizer(KernelRegistry& registry) {
  registry.Add(Op("StringNormalizer").Versions(10).Types(0, {ElementType::kString}).Make<StringNormalizer>());
}

}  // namespace tessera::cpu
