#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "model/proto.h"
#include "onnx/onnx_pb.h"

namespace tessera {

/// A model's own functions, by domain, name and overload.
struct FunctionLibrary {
  std::map<std::array<std::string, 3>, onnx::FunctionProto> functions;
  TensorDataSource source;
  MemoryCharge charge;  // of the functions' messages
};

/// Throws Error(kInvalidGraph) naming functions that are defined twice or call themselves.
std::shared_ptr<const FunctionLibrary> MakeFunctionLibrary(onnx::ModelProto& model, TensorDataSource source,
                                                           MemoryCharge charge);

/// A sentence for each of the first functions that are named like an operator of ONNX.
std::vector<std::string> ShadowedFunctions(const onnx::ModelProto& model);

/// The function of the model that a node calls, or null.
const onnx::FunctionProto* FindLocalFunction(const Graph& graph, const Node& node);

/// Says whether a provider takes a node whole that is also a function; the others are replaced by their bodies.
using KeepFunction = std::function<bool(const Graph& graph, const Node& node)>;

/// Replaces a node by the body of its function: the model's own, or the one that ONNX gives for its operator. False when it
/// has none, or none for its input types. Types of what comes in are unknown until inferred.
bool InlineFunction(Graph& graph, NodeIndex call);

/// Inlines what `keep` does not keep (empty: the model's own functions only) and infers all types, nested graphs included,
/// until nothing is left to do. Throws Error(kInvalidGraph) naming what does not fit.
void ResolveGraph(Graph& graph, const KeepFunction& keep = nullptr);

/// Stands for captured values in graphs that travel as text from a call into a function's body.
std::string CapturedName(const Graph& nested, ValueIndex local);

}  // namespace tessera
