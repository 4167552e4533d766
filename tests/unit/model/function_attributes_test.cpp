// Attributes that a call of a function gives, and those of the body that refer to them.

#include <gmock/gmock.h>

#include "loading.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::LoadError;
using testing::ModelBuilder;
using testing::OnCpu;
using testing::RunOnce;
using AttributeType = onnx::AttributeProto;

/// y = mine.F(x), of the one node `op` whose `attribute` refers to the call's `given`.
struct Call {
  Call(const std::string& op, const std::string& attribute, onnx::AttributeProto::AttributeType declared) {
    model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
    auto* import = model.proto().add_opset_import();
    import->set_domain("mine");
    import->set_version(1);
    function = model.proto().add_functions();
    function->set_domain("mine");
    function->set_name("F");
    function->add_input("p");
    function->add_output("q");
    function->add_attribute("given");
    auto* standard = function->add_opset_import();
    standard->set_version(21);
    auto* node = function->add_node();
    node->set_op_type(op);
    node->set_name("inner");
    node->add_input("p");
    node->add_output("q");
    auto* reference = node->add_attribute();
    reference->set_name(attribute);
    reference->set_ref_attr_name("given");
    reference->set_type(declared);
    call = model.proto().mutable_graph()->add_node();
    call->set_op_type("F");
    call->set_domain("mine");
    call->set_name("call");
    call->add_input("x");
    call->add_output("y");
  }

  void GiveFloat(float value) {
    auto* attribute = call->add_attribute();
    attribute->set_name("given");
    attribute->set_type(AttributeType::FLOAT);
    attribute->set_f(value);
  }
  void GiveInt(int64_t value) {
    auto* attribute = call->add_attribute();
    attribute->set_name("given");
    attribute->set_type(AttributeType::INT);
    attribute->set_i(value);
  }

  ModelBuilder model;
  onnx::FunctionProto* function = nullptr;
  onnx::NodeProto* call = nullptr;
};

TEST(FunctionAttributes, OfTheTypeThatTheBodyDeclares) {
  Call call("LeakyRelu", "alpha", AttributeType::FLOAT);
  call.GiveFloat(0.5f);
  EXPECT_THAT(RunOnce(call.model.Session(OnCpu()), {Floats({2}, {1, -2})}), ElementsAre(1, -1));
}

TEST(FunctionAttributes, LeftOutWhereTheyAreOptional) {
  Call call("LeakyRelu", "alpha", AttributeType::FLOAT);
  EXPECT_THAT(RunOnce(call.model.Session(OnCpu()), {Floats({2}, {1, -100})}), ElementsAre(1, -1));
}

TEST(FunctionAttributes, OfAnotherTypeThanTheBodyDeclares) {
  Call call("LeakyRelu", "alpha", AttributeType::FLOAT);
  call.GiveInt(2);
  EXPECT_THAT(
      LoadError(call.model),
      AllOf(HasSubstr("F 'call'"), HasSubstr("LeakyRelu 'inner'"),
            HasSubstr("attribute 'alpha' refers to the function's attribute 'given' as FLOAT; the call gives INT")));
}

TEST(FunctionAttributes, OfAnotherTypeThanTheOperatorExpects) {
  Call call("LeakyRelu", "alpha", AttributeType::UNDEFINED);
  call.GiveInt(2);
  EXPECT_THAT(LoadError(call.model),
              AllOf(HasSubstr("LeakyRelu 'inner'"), HasSubstr("attribute 'alpha' is INT; the operator expects FLOAT")));
}

TEST(FunctionAttributes, OfAnotherTypeThanTheirDefault) {
  Call call("LeakyRelu", "alpha", AttributeType::FLOAT);
  call.function->clear_attribute();
  auto* declared = call.function->add_attribute_proto();
  declared->set_name("given");
  declared->set_type(AttributeType::FLOAT);
  declared->set_f(0.5f);
  EXPECT_THAT(RunOnce(call.model.Session(OnCpu()), {Floats({2}, {1, -2})}), ElementsAre(1, -1));
  call.GiveInt(2);
  EXPECT_THAT(LoadError(call.model),
              AllOf(HasSubstr("F 'call'"), HasSubstr("attribute 'given' is INT; the function declares it as FLOAT")));
}

TEST(FunctionAttributes, LeftOutWhereTheyAreRequired) {
  Call call("Cast", "to", AttributeType::INT);
  EXPECT_THAT(LoadError(call.model),
              AllOf(HasSubstr("Cast 'inner'"), HasSubstr("attribute 'to' is required; it refers to")));
  call.GiveInt(onnx::TensorProto::FLOAT);
  EXPECT_THAT(RunOnce(call.model.Session(OnCpu()), {Floats({2}, {1, -2})}), ElementsAre(1, -2));
}

}  // namespace
}  // namespace tessera
