// merge_constants: one of several equal constants serves all their readers, so that kernels pack it once and nodes that differ
// in nothing else are seen to be equal.

#include <unordered_map>

#include "optimizer/edit.h"
#include "optimizer/rewrites.h"
#include "optimizer/tensor_contents.h"

namespace tessera {
namespace {

class ConstantMerging final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    std::unordered_multimap<uint64_t, ValueIndex> seen;
    size_t changes = 0;
    for (size_t i = 0; i < graph.num_values(); ++i) {
      const auto index = static_cast<ValueIndex>(i);
      const GraphValue& value = graph.value(index);
      if (!value.constant || (value.consumers.empty() && !value.is_output)) continue;
      const uint64_t hash = ContentsHash(*value.constant);
      const auto [first, last] = seen.equal_range(hash);
      auto same = first;
      while (same != last && !SameContents(*graph.value(same->second).constant, *value.constant)) ++same;
      if (same == last) {
        seen.emplace(hash, index);
      } else if (!value.is_output) {
        graph.ReplaceUses(index, same->second);
        graph.DropConstant(index);
        ++changes;
      }
    }
    return changes;
  }
};

}  // namespace

std::unique_ptr<Rewrite> MergeConstants() { return std::make_unique<ConstantMerging>(); }

}  // namespace tessera
