#include "graph/onnx_schemas.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "onnx/defs/schema.h"

namespace tessera {
namespace {

constexpr int kNewestOpset = 40;  // above every domain's

TEST(OnnxSchemas, AnswerAsOnnxRegistryDoes) {
  std::set<std::pair<std::string, std::string>> operators;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    operators.emplace(schema.Name(), schema.domain());
  }
  ASSERT_GT(operators.size(), 200u);
  for (const auto& [op_type, domain] : operators) {
    for (int opset = 0; opset <= kNewestOpset; ++opset) {
      const onnx::OpSchema* expected = onnx::OpSchemaRegistry::Schema(op_type, opset, domain);
      const onnx::OpSchema* found = FindOnnxSchema(op_type, opset, domain);
      ASSERT_EQ(found == nullptr, expected == nullptr) << domain << "." << op_type << " at " << opset;
      if (found == nullptr) continue;
      ASSERT_EQ(found->SinceVersion(), expected->SinceVersion()) << domain << "." << op_type << " at " << opset;
      ASSERT_EQ(found->Name(), op_type);
      ASSERT_EQ(found->domain(), domain);
      ASSERT_EQ(found->Deprecated(), expected->Deprecated());
      ASSERT_EQ(found->min_input(), expected->min_input());
      ASSERT_EQ(found->max_input(), expected->max_input());
      ASSERT_EQ(found->max_output(), expected->max_output());
      ASSERT_EQ(found->attributes().size(), expected->attributes().size());
      ASSERT_EQ(found->HasFunction(), expected->HasFunction());
    }
    EXPECT_EQ(FindOnnxSchema(op_type, kNewestOpset, domain),
              FindOnnxSchema(op_type, std::numeric_limits<int>::max(), domain));
  }
}

TEST(OnnxSchemas, NothingForUnknownOperatorsAndDomains) {
  EXPECT_EQ(FindOnnxSchema("NoSuchOperator"), nullptr);
  EXPECT_EQ(FindOnnxSchema(""), nullptr);
  EXPECT_EQ(FindOnnxSchema("Add", 13, "ai.onnx.ml"), nullptr);
  EXPECT_EQ(FindOnnxSchema("Scaler", 13, ""), nullptr);
  EXPECT_EQ(FindOnnxSchema("Adam", 1, "ai.onnx.preview"), nullptr);
  EXPECT_EQ(FindOnnxSchema("Add", 13, "com.example"), nullptr);
  EXPECT_EQ(FindOnnxSchema("Add", -1), nullptr);
}

TEST(OnnxSchemas, ThreadsGetOneSchema) {
  std::vector<const onnx::OpSchema*> found(8);
  {
    std::vector<std::jthread> threads;
    for (auto& slot : found) threads.emplace_back([&slot] { slot = FindOnnxSchema("Hardmax", 13); });
  }
  for (const onnx::OpSchema* schema : found) EXPECT_EQ(schema, found[0]);
  EXPECT_NE(found[0], nullptr);
}

}  // namespace
}  // namespace tessera
