// What a session says of its model and of itself.

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/c/memory_info.h"
#include "bindings/python/sessions.h"

namespace tessera::python {
namespace {

std::string TypeText(TypeInfo type) {
  type.shape.reset();
  return type.ToString();
}

nb::object ShapeOf(const NamedType& value) {
  nb::list dims;
  if (!value.type.shape) return dims;
  for (const Dimension& dim : *value.type.shape) {
    if (dim.known()) {
      dims.append(dim.value);
    } else if (dim.symbol.empty()) {
      dims.append(nb::none());
    } else {
      dims.append(nb::str(dim.symbol.c_str(), dim.symbol.size()));
    }
  }
  return dims;
}

nb::str TextOf(const NamedType& value) {
  return nb::str("NodeArg(name={!r}, type={!r}, shape={})")
      .format(value.name, TypeText(value.type), nb::str(ShapeOf(value)));
}

void BindNodeArg(nb::module_& module) {
  auto arg = nb::class_<NamedType>(module, "NodeArg", "An input or output of a model.");
  arg.def_prop_ro("name", [](const NamedType& self) { return self.name; });
  arg.def_prop_ro("type", [](const NamedType& self) { return TypeText(self.type); }, "\"tensor(float)\" and the like.");
  arg.def_prop_ro("shape", &ShapeOf, "Sizes of the dimensions, their names, or None.");
  arg.def("__str__", &TextOf);
  arg.def("__repr__", &TextOf);
}

void BindModelMetadata(nb::module_& module) {
  auto metadata = nb::class_<OrtModelMetadata>(module, "ModelMetadata", "What a model says of itself.");
  metadata.def_prop_ro("producer_name", [](const OrtModelMetadata& self) { return self.metadata.producer_name; });
  metadata.def_prop_ro("graph_name", [](const OrtModelMetadata& self) { return self.metadata.graph_name; });
  metadata.def_prop_ro("domain", [](const OrtModelMetadata& self) { return self.metadata.domain; });
  metadata.def_prop_ro("description", [](const OrtModelMetadata& self) { return self.metadata.description; });
  metadata.def_prop_ro("graph_description", [](const OrtModelMetadata& self) { return self.metadata.graph_description; });
  metadata.def_prop_ro("version", [](const OrtModelMetadata& self) {
    int64_t version = 0;
    Check(Api().ModelMetadataGetVersion(&self, &version));
    return version;
  });
  metadata.def_prop_ro("custom_metadata_map", [](const OrtModelMetadata& self) { return self.metadata.custom; });
}

nb::list Listed(const std::vector<NamedType>& values) {
  nb::list list;
  for (const NamedType& value : values) list.append(nb::cast(value));
  return list;
}

OrtModelMetadata MetadataOf(const PySession& self) {
  const std::shared_ptr<Loaded> loaded = self.loaded();
  OrtModelMetadata* made = nullptr;
  Check(Api().SessionGetModelMetadata(loaded->session, &made));
  OrtModelMetadata copy = *made;
  Api().ReleaseModelMetadata(made);
  return copy;
}

/// Copies: what the C ABI lists belongs to the session.
struct AssignedNode {
  std::string name, domain, op_type;
};
struct AssignedSubgraph {
  std::string provider;
  std::vector<AssignedNode> nodes;
};

AssignedNode CopyOf(const OrtEpAssignedNode& node) {
  const char *name = nullptr, *domain = nullptr, *op_type = nullptr;
  Check(Api().EpAssignedNode_GetName(&node, &name));
  Check(Api().EpAssignedNode_GetDomain(&node, &domain));
  Check(Api().EpAssignedNode_GetOperatorType(&node, &op_type));
  return {name, domain, op_type};
}

AssignedSubgraph CopyOf(const OrtEpAssignedSubgraph& part) {
  const char* provider = nullptr;
  Check(Api().EpAssignedSubgraph_GetEpName(&part, &provider));
  const OrtEpAssignedNode* const* nodes = nullptr;
  size_t count = 0;
  Check(Api().EpAssignedSubgraph_GetNodes(&part, &nodes, &count));
  AssignedSubgraph copy{provider, {}};
  for (size_t i = 0; i < count; ++i) copy.nodes.push_back(CopyOf(*nodes[i]));
  return copy;
}

std::vector<AssignedSubgraph> AssignmentOf(const PySession& self) {
  const std::shared_ptr<Loaded> loaded = self.loaded();
  const OrtEpAssignedSubgraph* const* parts = nullptr;
  size_t count = 0;
  Check(Api().Session_GetEpGraphAssignmentInfo(loaded->session, &parts, &count));
  std::vector<AssignedSubgraph> all;
  all.reserve(count);
  for (size_t i = 0; i < count; ++i) all.push_back(CopyOf(*parts[i]));
  return all;
}

void BindAssignment(nb::module_& module) {
  auto node = nb::class_<AssignedNode>(module, "OrtEpAssignedNode", "A node that a provider runs.");
  node.def_prop_ro("name", [](const AssignedNode& self) { return self.name; });
  node.def_prop_ro("domain", [](const AssignedNode& self) { return self.domain; });
  node.def_prop_ro("op_type", [](const AssignedNode& self) { return self.op_type; });
  auto part = nb::class_<AssignedSubgraph>(module, "OrtEpAssignedSubgraph", "Nodes that a provider runs as one.");
  part.def_prop_ro("ep_name", [](const AssignedSubgraph& self) { return self.provider; }, "The provider's name.");
  part.def("get_nodes", [](const AssignedSubgraph& self) { return self.nodes; }, "The nodes.");
}

nb::list MemoryUseOf(const PySession& self) {
  nb::list list;
  for (const MemoryUse& use : self.loaded()->core().memory_use()) {
    nb::dict entry;
    entry["memory"] = use.memory;
    entry["bytes_in_use"] = use.stats.bytes_in_use;
    entry["peak_bytes_in_use"] = use.stats.peak_bytes_in_use;
    entry["bytes_reserved"] = use.stats.bytes_reserved;
    entry["allocations"] = use.stats.allocations;
    entry["limit"] = use.stats.limit ? nb::object(nb::int_(*use.stats.limit)) : nb::none();
    list.append(entry);
  }
  return list;
}

}  // namespace

void BindMetadata(nb::module_& module) {
  BindNodeArg(module);
  BindModelMetadata(module);
  BindAssignment(module);
}

void BindReports(nb::class_<PySession>& session) {
  for (const auto& [name, list] : {std::pair{"inputs_meta", &Session::inputs},
                                   {"outputs_meta", &Session::outputs},
                                   {"overridable_initializers", &Session::overridable_initializers}}) {
    session.def_prop_ro(name, [list = list](const PySession& self) { return Listed((self.loaded()->core().*list)()); });
  }
  session.def_prop_ro("model_meta", &MetadataOf);
  // Texts; what Python programs get from them is made in Python.
  session.def("_placement", [](const PySession& self, const std::string& form) {
    const std::shared_ptr<Loaded> loaded = self.loaded();
    const PlacementReport& report = loaded->core().placement();
    return form == "json" ? report.ToJson() : form == "dot" ? report.ToDot() : report.ToText();
  });
  session.def("_optimization", [](const PySession& self, const std::string& form) {
    const std::shared_ptr<Loaded> loaded = self.loaded();
    const OptimizationReport& report = loaded->core().optimization();
    return form == "json" ? report.ToJson() : report.ToText();
  });
  session.def("get_provider_graph_assignment_info", &AssignmentOf,
              "Which provider runs which nodes, where \"session.record_ep_graph_assignment_info\" was set to \"1\".");
  session.def("memory_use", &MemoryUseOf, "Bytes that the session's allocators have given out, a dict for each memory.");
  session.def(
      "warnings", [](const PySession& self) { return self.loaded()->core().warnings(); },
      "What looks wrong in the model and was let through, a sentence each.");
}

}  // namespace tessera::python
