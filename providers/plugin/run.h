#pragma once

// What compiled parts and registered kernels have in common when they run.

#include <span>
#include <string>
#include <vector>

#include "bindings/c/kernels/kernel_context.h"
#include "plugin/stream.h"
#include "tessera/provider/graph.h"

namespace tessera::plugin {

/// Of each value, which of the part's it is; -1 where it is none of them, or omitted.
std::vector<int32_t> IndicesOf(std::span<const ValueIndex> values, std::span<const ValueIndex> part);

/// What a part's outputs are declared to be: the rest of the plan relies on it.
class Outputs {
 public:
  /// `outputs`: of the part's one node, kNone where one is omitted, or of the part.
  Outputs(const GraphViewer& graph, std::span<const ValueIndex> outputs, std::string owner);

  /// Of each, which of the part's it is; -1 where it is omitted, or nobody reads it.
  std::span<const int32_t> indices() const noexcept { return indices_; }
  /// Of each; undefined where it is omitted, or not known.
  std::span<const ElementType> types() const noexcept { return types_; }
  /// After a run. Throws Error for an output that somebody wants and that was not computed, and for one of another type or
  /// shape than it should have.
  void Check(OrtKernelContext& run) const;

 private:
  struct Declared {
    std::string name;
    TypeInfo type;
  };
  std::vector<Declared> declared_;
  std::vector<int32_t> indices_;
  std::vector<ElementType> types_;
  std::string owner_;
};

}  // namespace tessera::plugin
