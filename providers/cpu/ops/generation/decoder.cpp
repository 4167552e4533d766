#include "cpu/ops/generation/decoder.h"

#include <algorithm>
#include <limits>

#include "base/cancellation.h"
#include "base/check.h"
#include "cpu/engine/convert_row.h"
#include "cpu/ops/control_flow/rows.h"

namespace tessera::cpu {

NestedGraph::NestedGraph(const KernelInfo& info, std::string_view attribute)
    : attribute_(attribute), runner_(&info.subgraph(attribute)) {
  const GraphViewer graph(**std::get_if<std::shared_ptr<Graph>>(info.node().FindAttribute(attribute)));
  for (const ValueIndex input : graph.inputs()) inputs_.push_back(graph.value(input).name);
  for (const ValueIndex output : graph.outputs()) outputs_.push_back(graph.value(output).name);
}

bool NestedGraph::has_input(std::string_view name) const { return std::ranges::find(inputs_, name) != inputs_.end(); }

namespace {

void RequireNamed(const std::string& graph, const char* what, const std::vector<std::string>& names, size_t i,
                  std::string_view name) {
  Require(i < names.size(), "the {} has {} {}s; {} is missing", graph, names.size(), what, name);
  Require(names[i] == name, "{} {} of the {} is {}; {} is expected", what, i, graph, names[i], name);
}

void RequireElement(const std::string& graph, const std::string& name, const TypeInfo& type, ElementType element) {
  Require(type.is_tensor() && (element == ElementType::kUndefined || type.element == element),
          "{} of the {} is {}; {} is expected", name, graph, type.ToString(), ElementTypeName(element));
}

}  // namespace

void NestedGraph::RequireInput(size_t i, std::string_view name, ElementType type) const {
  RequireNamed(attribute_, "input", inputs_, i, name);
  RequireElement(attribute_, inputs_[i], input_type(i), type);
}

void NestedGraph::RequireOutput(size_t i, std::string_view name, ElementType type) const {
  RequireNamed(attribute_, "output", outputs_, i, name);
  RequireElement(attribute_, outputs_[i], output_type(i), type);
}

int64_t NestedGraph::DeclaredSize(const TypeInfo& type, size_t rank, size_t axis, const char* what) {
  Require(type.shape.has_value() && type.shape->size() == rank && (*type.shape)[axis].value > 0,
          "{} is declared {}; {} dimensions, of which number {} is known, are expected", what,
          type.shape ? ToString(*type.shape) : "without shape", rank, axis);
  return (*type.shape)[axis].value;
}

std::vector<Value> NestedGraph::Run(KernelContext& context, std::span<const Value> inputs) const {
  CancellationPoint();
  for (size_t i = 0; i < inputs.size(); ++i) {
    RequireFits(inputs[i], input_type(i), "input", i);
    const auto& declared = input_type(i).shape;
    const Shape& given = inputs[i].tensor().shape();
    bool fits = !declared || declared->size() == given.rank();
    for (size_t axis = 0; fits && declared && axis < given.rank(); ++axis) {
      fits = !(*declared)[axis].known() || (*declared)[axis].value == given[axis];
    }
    Require(fits, "{} of the {} is declared {}; the search gives it {}", inputs_[i], attribute_,
            declared ? ToString(*declared) : "", given);
  }
  std::vector<Value> outputs(num_outputs());
  runner_->Run(context, inputs, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) RequireFits(outputs[i], output_type(i), "output", i);
  return outputs;
}

int64_t TokenAttribute(const KernelInfo& info, std::string_view name) {
  const auto token = info.attribute<int64_t>(name, -1);
  Require(token >= -1 && token <= std::numeric_limits<int32_t>::max(), "{} is {}; a token is expected", name, token);
  return token;
}

int64_t VocabularyOf(const KernelInfo& info, const Decoder& decoder) {
  const auto size = info.attribute<int64_t>("vocab_size", -1);
  Require(size <= decoder.vocabulary(), "vocab_size is {}, logits are declared of {}", size, decoder.vocabulary());
  return size > 0 ? size : decoder.vocabulary();
}

const Tensor& PromptOf(const SearchInputs& inputs) {
  const Tensor& ids = inputs.first();
  Require(ids.is(ElementType::kInt32) && ids.shape().rank() == 2 && ids.shape()[1] > 0,
          "input_ids is {} {}; int32 [batch,length] is expected", ElementTypeName(ids.type()), ids.shape());
  return ids;
}

Tensor TakeRows(const Tensor& source, size_t axis, std::span<const int32_t> rows, Allocator& memory) {
  Shape shape = source.shape();
  const int64_t outer = shape.SizeOfRange(0, axis), inner = shape.SizeOfRange(axis + 1, shape.rank()), before = shape[axis];
  const auto count = static_cast<int64_t>(rows.size());
  shape[axis] = count;
  Tensor result(source.type(), shape, memory);
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      CopyElements(source, (i * before + rows[static_cast<size_t>(j)]) * inner, result, (i * count + j) * inner, inner);
    }
  }
  return result;
}

Tensor RepeatRows(const Tensor& source, int64_t beams, Allocator& memory) {
  std::vector<int32_t> rows(static_cast<size_t>(source.shape()[0] * beams));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i / static_cast<size_t>(beams));
  return TakeRows(source, 0, rows, memory);
}

void LastLogits(const Tensor& logits, int64_t rows, int64_t vocabulary, std::span<float> scores) {
  const Shape& shape = logits.shape();
  Require(shape.rank() == 3 && shape[0] > 0 && rows % shape[0] == 0 && shape[1] > 0 && shape[2] >= vocabulary,
          "logits are {}; [{},length,{}] is expected", shape, rows, vocabulary);
  const int64_t repeated = rows / shape[0];
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t from = ((i / repeated + 1) * shape[1] - 1) * shape[2];
    float* to = scores.data() + i * vocabulary;
    if (logits.is(ElementType::kFloat16)) LoadRow(logits.data<Float16>() + from, to, vocabulary);
    else LoadRow(logits.data<float>() + from, to, vocabulary);
  }
}

}  // namespace tessera::cpu
