// Einsum's ways to multiply: rows and columns that one stride walks or not, results written to their places or moved there,
// products without a sum, and operands that are copied first, against the definition.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera {
namespace {

using testing::ModelBuilder;

using Sizes = std::map<char, int64_t>;

struct Operand {
  std::string labels;
  std::vector<int64_t> dims;
  std::vector<float> values;  // whole and small: sums are exact in any order

  Operand(std::string text, const Sizes& sizes, int64_t seed) : labels(std::move(text)) {
    int64_t count = 1;
    for (const char label : labels) dims.push_back(sizes.at(label)), count *= dims.back();
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * 7 + seed * 3) % 11 - 5));
  }

  float At(const Sizes& index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < labels.size(); ++i) offset = offset * dims[i] + index.at(labels[i]);
    return values[static_cast<size_t>(offset)];
  }
};

/// The next index, row-major; false after the last.
bool Advance(Sizes& index, const std::string& labels, const Sizes& sizes) {
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    if (++index[*label] < sizes.at(*label)) return true;
    index[*label] = 0;
  }
  return false;
}

std::vector<float> Defined(const std::vector<Operand>& operands, const std::string& out, const Sizes& sizes) {
  std::string summed;
  for (const Operand& operand : operands) {
    for (const char label : operand.labels) {
      if (out.find(label) == std::string::npos && summed.find(label) == std::string::npos) summed += label;
    }
  }
  Sizes index;
  for (const auto& [label, size] : sizes) index[label] = 0;
  std::vector<float> results;
  do {
    float sum = 0;
    do {
      float product = 1;
      for (const Operand& operand : operands) product *= operand.At(index);
      sum += product;
    } while (Advance(index, summed, sizes));
    results.push_back(sum);
  } while (Advance(index, out, sizes));
  return results;
}

void ExpectDefined(const std::string& equation, const Sizes& sizes, ElementType type) {
  SCOPED_TRACE(equation);
  const size_t arrow = equation.find("->");
  const std::string out = equation.substr(arrow + 2);
  std::vector<Operand> operands;
  std::istringstream terms(equation.substr(0, arrow));
  for (std::string term; std::getline(terms, term, ',');)
    operands.emplace_back(term, sizes, static_cast<int64_t>(operands.size()));
  ModelBuilder model(17);
  std::vector<std::string> names;
  std::vector<Value> inputs;
  for (const Operand& operand : operands) {
    names.push_back("x" + std::to_string(names.size()));
    model.Input(names.back(), type, std::vector<int64_t>(operand.dims.size(), -1));
    inputs.emplace_back(
        type == ElementType::kFloat
            ? Tensor::Of<float>(Shape(operand.dims), operand.values)
            : Tensor::Of<int64_t>(Shape(operand.dims), std::vector<int64_t>(operand.values.begin(), operand.values.end())));
  }
  model.Output("y", type, std::vector<int64_t>(out.size(), -1));
  onnx::NodeProto& node = model.Node("Einsum", {}, {"y"});
  for (const std::string& name : names) node.add_input(name);
  testing::Text(node, "equation", equation);
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kNone;
  const Session session = model.Session(options);
  std::vector<Value> results(1);
  session.Run(inputs, results);
  const Tensor& y = results[0].tensor();
  std::vector<float> values;
  if (type == ElementType::kFloat) {
    values.assign(y.values<float>().begin(), y.values<float>().end());
  } else {
    std::ranges::transform(y.values<int64_t>(), std::back_inserter(values),
                           [](int64_t value) { return static_cast<float>(value); });
  }
  EXPECT_EQ(values, Defined(operands, out, sizes));
}

TEST(Einsum, IsWhatItsDefinitionSays) {
  const Sizes sizes = {{'b', 2}, {'h', 3}, {'w', 5}, {'c', 4}, {'k', 7}, {'t', 33}, {'d', 35}, {'n', 1}};
  for (const char* equation : {
           "bhwc,hkc->bhwk",  // rows that two strides walk
           "bhtc,hkc->bhtk",  // of which the last are enough for matmuls of their own
           "bhtc,hdc->bdht",  // with results that lie apart
           "tc,hcd->thd",     // columns that two strides walk
           "tc,hcd->htd",     "tc,hcd->dth",      "thc,hcd->thd", "thc,hcd->tdh",
           "bkctw,kwd->bctd",  // sums that two strides walk
           "bct,cd->bctd",     // nothing is summed
           "bct,bct->bct",    "bct,tcb->bct",     "bc,bd->bcd",   "bt,bc->tcb",    "b,c->bc",      "bct,ct->tbc",
           "bctd,btd->bct",   "bctd,btd->tb",     "c,c->",        "tc,c->t",       "c,tc->t",      "tc,dc->dt",
           ",bt->tb",         "bct,tnd,dk->bknc", "b,c,k->kcb",   "bc,bt,bd->ctd", "nbt,ntd->nbd",
       }) {
    ExpectDefined(equation, sizes, ElementType::kFloat);
    ExpectDefined(equation, sizes, ElementType::kInt64);
  }
}

}  // namespace
}  // namespace tessera
