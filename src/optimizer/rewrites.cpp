#include "optimizer/rewrites.h"

#include <array>

namespace tessera {
namespace {

constexpr auto kBasic = OptimizationLevel::kBasic;

constexpr std::array kRewrites = {
    RewriteEntry{"fold_shapes", kBasic, FoldShapes},
    RewriteEntry{"fold_constants", kBasic, FoldConstants},
    RewriteEntry{"eliminate_identities", kBasic, EliminateIdentities},
    RewriteEntry{"merge_constants", kBasic, MergeConstants},
    RewriteEntry{"merge_equal_nodes", kBasic, MergeEqualNodes},
    RewriteEntry{"eliminate_dead_nodes", kBasic, EliminateDeadNodes},
};

}  // namespace

std::span<const RewriteEntry> Rewrites() { return kRewrites; }

}  // namespace tessera
