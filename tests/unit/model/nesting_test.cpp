// Models that are nested deeper than protobuf reads are told from damaged ones.

#include <gmock/gmock.h>

#include <string>

#include "error_of.h"
#include "loading.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using ::testing::Not;

constexpr const char* kTooDeep = "nested more than 100 deep, which protobuf does not read";

/// An If whose branch has one, and so on.
ModelBuilder NestedGraphs(int graphs) {
  ModelBuilder model;
  onnx::GraphProto* graph = model.proto().mutable_graph();
  for (int i = 0; i < graphs; ++i) {
    auto* attribute = graph->add_node()->add_attribute();
    attribute->set_type(onnx::AttributeProto::GRAPH);
    graph = attribute->mutable_g();
  }
  return model;
}

TEST(Nesting, OfGraphsDeeperThanProtobufReads) {
  EXPECT_THAT(testing::LoadError(NestedGraphs(40)), HasSubstr(kTooDeep));
  EXPECT_THAT(testing::LoadError(NestedGraphs(400)), HasSubstr(kTooDeep));
  EXPECT_THAT(testing::LoadError(NestedGraphs(30)), Not(HasSubstr(kTooDeep)));
}

TEST(Nesting, OfTypesDeeperThanProtobufReads) {
  ModelBuilder model;
  onnx::TypeProto* type = model.proto().mutable_graph()->add_input()->mutable_type();
  for (int i = 0; i < 60; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  EXPECT_THAT(testing::LoadError(model), HasSubstr(kTooDeep));
}

TEST(Nesting, IsNotTakenForDamage) {
  std::string bytes = NestedGraphs(5).bytes();
  bytes.resize(bytes.size() - 3);
  EXPECT_THAT(ErrorOf([&] { Session(std::as_bytes(std::span(bytes)), testing::OnCpu()); }),
              AllOf(HasSubstr("truncated or damaged"), Not(HasSubstr(kTooDeep))));
}

}  // namespace
}  // namespace tessera
