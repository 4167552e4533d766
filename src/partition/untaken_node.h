#pragma once

#include <string>

#include "partition/partition.h"

namespace tessera {

/// Throws the Error for a node that no provider takes: who was asked, why each refused, and what helps. `refusals`: the
/// node's.
[[noreturn]] void FailForUntaken(const Graph& graph, NodeIndex node, const std::string& path,
                                 const PlacementReport::Refusals& refusals, const PartitionOptions& options);

}  // namespace tessera
