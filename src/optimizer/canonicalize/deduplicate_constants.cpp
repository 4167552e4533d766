// deduplicate_constants: one of several equal constants serves all their readers, so that kernels pack it once and nodes
// that differ in nothing else are seen to be equal.

#include <algorithm>
#include <unordered_map>

#include "base/load_limits.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/tensor_contents.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// Constants whose first elements are the same.
class Alike {
 public:
  explicit Alike(ValueIndex first) : first_(first) {}

  /// The constant with the same contents, or `index`, which is one of them from now on.
  ValueIndex FindOrAdd(const Graph& graph, ValueIndex index) {
    const Tensor& constant = *graph.value(index).constant;
    if (by_contents_.empty()) by_contents_.emplace(ContentsHash(*graph.value(first_).constant), first_);
    const uint64_t hash = ContentsHash(constant);
    const auto [begin, end] = by_contents_.equal_range(hash);
    const auto same = std::find_if(
        begin, end, [&](const auto& entry) { return SameContents(*graph.value(entry.second).constant, constant); });
    if (same != end) return same->second;
    by_contents_.emplace(hash, index);
    return index;
  }

 private:
  ValueIndex first_;
  std::unordered_multimap<uint64_t, ValueIndex>
      by_contents_;  // empty until there is a second one: nobody reads what is alone
};

class ConstantMerging final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    std::unordered_map<uint64_t, Alike> seen;  // by their samples
    size_t changes = 0;
    for (size_t i = 0; i < graph.num_values(); ++i) {
      graph.limits().Check();
      const auto index = static_cast<ValueIndex>(i);
      const GraphValue& value = graph.value(index);
      if (!value.constant || (value.consumers.empty() && !value.is_output)) continue;
      const auto [alike, first] = seen.try_emplace(SampleHash(*value.constant), index);
      const ValueIndex same = first ? index : alike->second.FindOrAdd(graph, index);
      if (same == index || value.is_output) continue;
      graph.ReplaceUses(index, same);
      graph.DropConstant(index);
      ++changes;
    }
    return changes;
  }
};

}  // namespace

std::unique_ptr<Rewrite> DeduplicateConstants() { return std::make_unique<ConstantMerging>(); }

}  // namespace tessera
