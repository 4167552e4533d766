// Loop, ai.onnx, versions 1, 11, 13, 16, 19, 21, 23, 24, 25.

#include <algorithm>
#include <limits>

#include "base/cancellation.h"
#include "cpu/engine/sequences.h"
#include "cpu/ops/control_flow/rows.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

/// True when the body hands its condition on as it got it, or sets it to a constant true: the trip count is then M.
bool NeverStops(const KernelInfo& info) {
  const AttributeValue* attribute = info.node().FindAttribute("body");
  const auto* body = attribute == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(attribute);
  if (body == nullptr) return false;
  const GraphViewer graph(**body);
  if (graph.inputs().size() < 2 || graph.outputs().empty()) return false;
  ValueIndex condition = graph.outputs()[0];
  while (condition != graph.inputs()[1]) {
    if (const Tensor* constant = graph.constant(condition); constant != nullptr) {
      return constant->is(ElementType::kBool) && constant->num_elements() == 1 && *constant->data<bool>();
    }
    const NodeIndex producer = graph.value(condition).producer;
    if (producer == kNone) return false;
    const Node& node = graph.node(producer);
    if (node.op_type != "Identity" || !node.domain.empty() || node.inputs.size() != 1) return false;
    condition = node.inputs[0];
  }
  return true;
}

bool ToBool(const Value& value, const char* what) {
  const Tensor* tensor = value.tensor_if();
  Require(tensor != nullptr && tensor->is(ElementType::kBool) && tensor->num_elements() == 1,
          "{} is {}, one bool is expected", what, value.type());
  return *tensor->data<bool>();
}

/// The rows that one scan output got so far.
class ScanOutput {
 public:
  /// `trips`: how many rows will come, -1 when that is not known.
  void Add(KernelContext& context, size_t output, int64_t trips, Value value) {
    const Tensor* row = value.tensor_if();
    Require(row != nullptr, "scan output {} is {}, a tensor is expected", output, value.type());
    if (count_ == 0) {
      shape_ = row->shape();
      type_ = row->type();
      if (trips >= 0) target_ = context.output(output, type_, WithRows(trips));
    }
    Require(row->shape() == shape_ && row->type() == type_, "scan output {} is {} after {} and was {} before", output,
            row->shape(), count_ + 1, shape_);
    if (trips >= 0) {
      if (target_ != nullptr) CopyElements(*row, 0, *target_, count_ * row->num_elements(), row->num_elements());
    } else {
      if (rows_.empty()) charge_ = MemoryCharge(context.allocator());
      charge_.Add(2 * sizeof(Value) + kTensorOverhead);  // the list doubles as it grows
      rows_.push_back(std::move(value));
    }
    ++count_;
  }

  void Finish(KernelContext& context, size_t output, const TypeInfo& stated, const TypeInfo& body) {
    if (count_ == 0) {
      context.output(output, StatedType(stated, body), ShapeWithoutRows(body, stated, 0, 0));
    } else if (!rows_.empty()) {
      Tensor* target = context.output(output, type_, WithRows(count_));
      for (size_t i = 0; target != nullptr && i < rows_.size(); ++i) {
        const Tensor& row = rows_[i].tensor();
        CopyElements(row, 0, *target, static_cast<int64_t>(i) * row.num_elements(), row.num_elements());
      }
    }
  }

 private:
  Shape WithRows(int64_t rows) const {
    Shape shape;
    shape.Append(rows);
    for (const int64_t dim : shape_) shape.Append(dim);
    return shape;
  }

  int64_t count_ = 0;
  Shape shape_;
  ElementType type_ = ElementType::kUndefined;
  Tensor* target_ = nullptr;
  std::vector<Value> rows_;
  MemoryCharge charge_;
};

class Loop final : public Kernel {
 public:
  explicit Loop(const KernelInfo& info) : body_(info.subgraph("body")), never_stops_(NeverStops(info)) {
    given_ = std::min<size_t>(info.num_inputs(), 2);
    carried_ = info.num_inputs() - given_;
    Require(body_.num_inputs() == carried_ + 2, "the body takes {} inputs, {} loop-carried values make {}",
            body_.num_inputs(), carried_, carried_ + 2);
    Require(body_.num_outputs() > carried_, "the body has {} outputs, at least {} are expected", body_.num_outputs(),
            carried_ + 1);
    scans_ = body_.num_outputs() - 1 - carried_;
    Require(info.num_outputs() <= carried_ + scans_, "the node has {} outputs, its body gives {}", info.num_outputs(),
            carried_ + scans_);
    for (size_t i = 0; i < info.num_outputs(); ++i) types_.push_back(info.output_info(i));
    types_.resize(carried_ + scans_);
  }

  void Compute(KernelContext& context) override {
    const int64_t limit = TripLimit(context);
    bool condition = true;
    if (const Value* given = Given(context, 1); given != nullptr && !given->is_none()) {
      condition = ToBool(*given, "the condition");
    }
    const int64_t trips = never_stops_ ? (condition ? limit : 0) : -1;

    std::vector<Value> inputs(2 + carried_);
    std::vector<Value> outputs(1 + carried_ + scans_);
    std::vector<ScanOutput> scans(scans_);
    for (size_t i = 0; i < carried_; ++i) {
      if (const Value* initial = context.input_value(2 + i); initial != nullptr) inputs[2 + i] = *initial;
      RequireFits(inputs[2 + i], body_.input_type(2 + i), "loop-carried value", i);
    }
    const Shape iteration_shape = ScalarLike(body_.input_type(0)), condition_shape = ScalarLike(body_.input_type(1));
    int64_t iteration = 0;
    for (; iteration < limit && condition; ++iteration) {
      CancellationPoint();
      // Views: what the body keeps of them it copies.
      inputs[0] = Tensor::View(ElementType::kInt64, iteration_shape, &iteration);
      inputs[1] = Tensor::View(ElementType::kBool, condition_shape, &condition);
      body_.RunTaking(context, inputs, outputs);
      condition = ToBool(outputs[0], "the body's condition");
      for (size_t i = 0; i < carried_; ++i) {
        RequireFits(outputs[1 + i], body_.input_type(2 + i), "loop-carried value", i);
        inputs[2 + i] = std::move(outputs[1 + i]);
      }
      for (size_t i = 0; i < scans_; ++i) {
        RequireFits(outputs[1 + carried_ + i], types_[carried_ + i], "output", carried_ + i);
        scans[i].Add(context, carried_ + i, trips, std::move(outputs[1 + carried_ + i]));
      }
    }
    for (size_t i = 0; i < carried_; ++i) {
      RequireFits(inputs[2 + i], types_[i], "output", i);
      context.set_output(i, std::move(inputs[2 + i]));
    }
    for (size_t i = 0; i < scans_; ++i) {
      if (context.has_output(carried_ + i)) {
        scans[i].Finish(context, carried_ + i, types_[carried_ + i], body_.output_type(1 + carried_ + i));
      }
    }
  }

 private:
  /// The trip count or the condition; where an omitted one ends the node's inputs, what the body captures follows at its
  /// place.
  const Value* Given(const KernelContext& context, size_t i) const { return i < given_ ? context.input_value(i) : nullptr; }

  int64_t TripLimit(const KernelContext& context) const {
    const Value* given = Given(context, 0);
    if (given == nullptr || given->is_none()) return std::numeric_limits<int64_t>::max();
    const Tensor& trips = given->tensor();
    Require(trips.is(ElementType::kInt64) && trips.num_elements() == 1, "the trip count is {} {}, one int64 is expected",
            ElementTypeName(trips.type()), trips.shape());
    return std::max<int64_t>(*trips.data<int64_t>(), 0);
  }

  /// A scalar; [1] where the body declares that.
  static Shape ScalarLike(const TypeInfo& type) {
    return type.shape.has_value() && type.shape->size() == 1 ? Shape{1} : Shape{};
  }

  SubgraphRunner& body_;
  bool never_stops_;
  size_t given_ = 0;  // of trip count and condition
  size_t carried_ = 0;
  size_t scans_ = 0;
  std::vector<TypeInfo> types_;
};

}  // namespace

void RegisterLoop(KernelRegistry& registry) { registry.Add(Op("Loop").Versions(1).Make<Loop>()); }

}  // namespace tessera::cpu
