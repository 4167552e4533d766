#pragma once

// Which of oneDNN's implementations computes a node: its first choice, what timing found on this machine (the node's
// algorithm says so), or, while a session is timed, what takes least time now, reorders of the source included.

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/algorithm.h"
#include "onednn/program/builder.h"
#include "onednn/program/program.h"
#include "runtime/profile/implementation_notes.h"

namespace tessera::onednn {

/// Of a node whose implementation was timed, before its name.
inline constexpr std::string_view kImplementationPrefix = "oneDNN ";

/// The implementation that the node's attribute names; empty without.
std::string_view NamedImplementation(const Node& node);

/// The fastest of some runs of a primitive on memories of these descriptions, which are zeros; nanoseconds.
double TimeOf(const dnnl::primitive& primitive, const std::vector<std::pair<int, Desc>>& arguments);
double TimeOfReorder(const Desc& from, const Desc& to);

/// Says that `node` keeps oneDNN's first choice, since nothing of the name `wanted` computes it.
void TellMissing(const ProgramBuilder& builder, const Node& node, std::string_view wanted, std::string_view usual);

/// Nanoseconds that `candidate` takes with the reorder of what it reads; infinite where it cannot be made.
template <class Primitive, class Description>
double TimeOfCandidate(const Description& candidate, const Desc& source, const ProgramBuilder::Fusion& fusion,
                       const Desc* bias) {
  std::vector<std::pair<int, Desc>> arguments = {{DNNL_ARG_SRC, candidate.src_desc()},
                                                 {DNNL_ARG_WEIGHTS, candidate.weights_desc()},
                                                 {DNNL_ARG_DST, candidate.dst_desc()},
                                                 {DNNL_ARG_SCRATCHPAD, candidate.scratchpad_desc()}};
  if (bias != nullptr) arguments.emplace_back(DNNL_ARG_BIAS, *bias);
  for (size_t i = 0; i < fusion.ops.size(); ++i) {
    if (fusion.ops[i].eltwise || fusion.ops[i].in_place) continue;
    arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1, candidate.dst_desc());
  }
  try {
    return TimeOf(Primitive(candidate), arguments) + TimeOfReorder(source, candidate.src_desc());
  } catch (const dnnl::error&) {
    return std::numeric_limits<double>::infinity();
  }
}

/// The description that `describe` gives of a primitive for `node`, which reads `source`, moved to the implementation that
/// is wanted. Primitive: of convolutions or matmuls, with a source, weights and perhaps a bias.
template <class Primitive, class Describe>
auto DescribeWanted(const ProgramBuilder& builder, const Node& node, MemoryIndex source,
                    const ProgramBuilder::Fusion& fusion, const Desc* bias, const Describe& describe) {
  // Copies of a description may share what moves on: each search has one of its own.
  auto candidate = describe();
  const std::string usual = candidate.impl_info_str();
  const auto named = [&](std::string_view wanted) {
    auto description = describe();
    bool found = wanted == description.impl_info_str();
    while (!found && description.next_impl()) found = wanted == description.impl_info_str();
    if (found) return description;
    TellMissing(builder, node, wanted, usual);
    return describe();
  };
  ImplementationNotes* notes = builder.notes();
  if (notes == nullptr) {
    const std::string_view wanted = NamedImplementation(node);
    return wanted.empty() ? candidate : named(wanted);
  }
  // Some of oneDNN 2.6's primitives divide by a batch of 0.
  if (candidate.src_desc().get_size() == 0 || candidate.dst_desc().get_size() == 0) return candidate;
  const Desc given = builder.desc(source);
  std::string fastest = usual, last = usual;
  double best = TimeOfCandidate<Primitive>(candidate, given, fusion, bias);
  while (candidate.next_impl()) {
    const std::string name = candidate.impl_info_str();
    if (name.find("ref") != std::string::npos) break;  // for every shape, and slow
    if (std::exchange(last, name) == name) continue;   // a name finds the first of that name
    const double taken = TimeOfCandidate<Primitive>(candidate, given, fusion, bias);
    if (taken >= best) continue;
    best = taken;
    fastest = name;
  }
  if (fastest == usual) return describe();
  notes->Add(builder.region().graph(), node.index, std::string(kImplementationPrefix) + fastest);
  return named(fastest);
}

}  // namespace tessera::onednn
