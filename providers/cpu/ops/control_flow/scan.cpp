// Scan, ai.onnx, versions 9, 11, 16, 19, 21, 23, 24, 25; version 8 with batches and sequence_lens.

#include <algorithm>
#include <cstring>

#include "base/cancellation.h"
#include "cpu/ops/control_flow/rows.h"
#include "cpu/ops/ops.h"
#include "ops/control_flow/scan.h"

namespace tessera::cpu {
namespace {

std::vector<int64_t> Directions(const KernelInfo& info, const char* name, size_t count) {
  auto directions = info.attribute<std::vector<int64_t>>(name, {});
  Require(directions.empty() || directions.size() == count, "attribute '{}' has {} entries, {} are expected", name,
          directions.size(), count);
  for (const int64_t direction : directions) {
    Require(direction == 0 || direction == 1, "attribute '{}' holds {}, 0 or 1 is expected", name, direction);
  }
  directions.resize(count);
  return directions;
}

std::vector<int64_t> Axes(const KernelInfo& info, const char* name, size_t count) {
  auto axes = info.attribute<std::vector<int64_t>>(name, {});
  Require(axes.empty() || axes.size() == count, "attribute '{}' has {} entries, {} are expected", name, axes.size(), count);
  axes.resize(count);
  return axes;
}

size_t CheckedAxis(int64_t axis, size_t rank, const char* what) {
  const auto signed_rank = static_cast<int64_t>(rank);
  Require(axis >= -signed_rank && axis < signed_rank, "{}: axis {} is outside rank {}", what, axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

Shape WithoutDims(const Shape& shape, size_t first, size_t count) {
  Shape result;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i < first || i >= first + count) result.Append(shape[i]);
  }
  return result;
}

Shape WithDim(const Shape& shape, size_t axis, int64_t dim) {
  Shape result;
  for (size_t i = 0; i < axis; ++i) result.Append(shape[i]);
  result.Append(dim);
  for (size_t i = axis; i < shape.rank(); ++i) result.Append(shape[i]);
  return result;
}

/// What both forms of Scan know of their body. `first`: the position of the first state variable among the inputs.
class ScanBody {
 public:
  ScanBody(const KernelInfo& info, size_t first) : body(info.subgraph("body")) {
    const int64_t scan_count = ScannedInputs(info.node());
    const size_t given = info.num_inputs() > first ? info.num_inputs() - first : 0;
    Require(scan_count >= 1 && static_cast<size_t>(scan_count) <= given, "num_scan_inputs is {}, the node has {} inputs",
            scan_count, given);
    inputs = static_cast<size_t>(scan_count);
    states = given - inputs;
    Require(body.num_inputs() == given, "the body takes {} inputs, the node gives {}", body.num_inputs(), given);
    Require(body.num_outputs() >= states, "the body has {} outputs, {} are states", body.num_outputs(), states);
    outputs = body.num_outputs() - states;
    Require(info.num_outputs() <= states + outputs, "the node has {} outputs, its body gives {}", info.num_outputs(),
            states + outputs);
    for (size_t i = 0; i < info.num_outputs(); ++i) types.push_back(info.output_info(i));
    types.resize(states + outputs);
  }

  /// One iteration: `in` holds states and rows, `out` receives states and rows; states move over to `in`.
  void Step(KernelContext& context, std::span<Value> in, std::span<Value> out) const {
    CancellationPoint();
    for (size_t i = 0; i < in.size(); ++i) RequireFits(in[i], body.input_type(i), "the body's input", i);
    body.Run(context, in, out);
    for (size_t i = 0; i < states; ++i) in[i] = std::move(out[i]);
    for (size_t i = 0; i < outputs; ++i) RequireFits(out[states + i], types[states + i], "output", states + i);
  }

  const Tensor& RowOf(std::span<const Value> out, size_t i) const {
    const Tensor* row = out[states + i].tensor_if();
    Require(row != nullptr, "scan output {} is {}, a tensor is expected", i, out[states + i].type());
    return *row;
  }

  SubgraphRunner& body;
  size_t states = 0;
  size_t inputs = 0;
  size_t outputs = 0;  // scan outputs
  std::vector<TypeInfo> types;
};

class Scan final : public Kernel {
 public:
  explicit Scan(const KernelInfo& info)
      : scan_(info, 0),
        input_axes_(Axes(info, "scan_input_axes", scan_.inputs)),
        input_directions_(Directions(info, "scan_input_directions", scan_.inputs)),
        output_axes_(Axes(info, "scan_output_axes", scan_.outputs)),
        output_directions_(Directions(info, "scan_output_directions", scan_.outputs)) {}

  void Compute(KernelContext& context) override {
    std::vector<Value> in(scan_.states + scan_.inputs), out(scan_.states + scan_.outputs);
    for (size_t i = 0; i < scan_.states; ++i) {
      if (const Value* state = context.input_value(i); state != nullptr) in[i] = *state;
    }
    std::vector<Tensor> sources(scan_.inputs);
    std::vector<Shape> row_shapes(scan_.inputs);
    const int64_t trips = PrepareInputs(context, sources, row_shapes);
    std::vector<Target> targets(scan_.outputs);
    for (int64_t t = 0; t < trips; ++t) {
      for (size_t i = 0; i < scan_.inputs; ++i) {
        const int64_t row = input_directions_[i] == 0 ? t : trips - 1 - t;
        const int64_t size = sources[i].num_elements() / trips;
        in[scan_.states + i] = Row(sources[i], row * size, size, row_shapes[i]);
      }
      scan_.Step(context, in, out);
      for (size_t i = 0; i < scan_.outputs; ++i) Store(context, targets[i], i, scan_.RowOf(out, i), t, trips);
    }
    for (size_t i = 0; i < scan_.states; ++i) {
      RequireFits(in[i], scan_.types[i], "output", i);
      context.set_output(i, std::move(in[i]));
    }
    for (size_t i = 0; i < scan_.outputs; ++i) Finish(context, targets[i], i, trips);
  }

 private:
  struct Target {
    Tensor* output = nullptr;
    Tensor moved;  // rows in front, for outputs whose axis is another
    Shape row;
  };

  /// Sources with the scanned axis in front; returns the common length.
  int64_t PrepareInputs(KernelContext& context, std::span<Tensor> sources, std::span<Shape> row_shapes) const {
    int64_t trips = -1;
    for (size_t i = 0; i < scan_.inputs; ++i) {
      const Tensor& input = context.required_input(scan_.states + i);
      const size_t axis = CheckedAxis(input_axes_[i], input.shape().rank(), "scan input");
      Require(trips < 0 || trips == input.shape()[axis], "scan input {} has {} rows along axis {}, the first has {}", i,
              input.shape()[axis], axis, trips);
      trips = input.shape()[axis];
      row_shapes[i] = WithoutDims(input.shape(), axis, 1);
      if (axis == 0 || input.num_elements() == 0) {
        sources[i] = input;
      } else {
        sources[i] = Tensor(input.type(), WithDim(row_shapes[i], 0, trips), context.allocator());
        MoveAxis(input, axis, false, sources[i]);
      }
    }
    return trips;
  }

  void Store(KernelContext& context, Target& target, size_t i, const Tensor& row, int64_t t, int64_t trips) const {
    if (!context.has_output(scan_.states + i)) return;
    if (t == 0) {
      target.row = row.shape();
      const size_t axis = CheckedAxis(output_axes_[i], row.shape().rank() + 1, "scan output");
      target.output = context.output(scan_.states + i, row.type(), WithDim(row.shape(), axis, trips));
      if (axis != 0) target.moved = Tensor(row.type(), WithDim(row.shape(), 0, trips), context.allocator());
    }
    Require(row.shape() == target.row && row.type() == target.output->type(),
            "scan output {} is {} in iteration {} and was {}", i, row.shape(), t, target.row);
    const int64_t at = output_directions_[i] == 0 ? t : trips - 1 - t;
    Tensor& rows = target.moved.defined() ? target.moved : *target.output;
    CopyElements(row, 0, rows, at * row.num_elements(), row.num_elements());
  }

  void Finish(KernelContext& context, Target& target, size_t i, int64_t trips) const {
    const size_t output = scan_.states + i;
    if (!context.has_output(output)) return;
    if (trips == 0) {
      const TypeInfo &row = scan_.body.output_type(output), &stated = scan_.types[output];
      const size_t stated_rank = stated.shape.has_value() ? std::max<size_t>(stated.shape->size(), 1) : 1;
      const size_t axis =
          CheckedAxis(output_axes_[i], row.shape.has_value() ? row.shape->size() + 1 : stated_rank, "scan output");
      context.output(output, StatedType(stated, row), ShapeWithoutRows(row, stated, 0, axis));
    } else if (target.moved.defined()) {
      MoveAxis(target.moved, CheckedAxis(output_axes_[i], target.row.rank() + 1, "scan output"), true, *target.output);
    }
  }

  ScanBody scan_;
  std::vector<int64_t> input_axes_, input_directions_, output_axes_, output_directions_;
};

/// Every input has a batch axis in front, scan inputs a sequence axis behind it; shorter sequences are padded with zeros.
class BatchedScan final : public Kernel {
 public:
  explicit BatchedScan(const KernelInfo& info)
      : scan_(info, 1), directions_(Directions(info, "directions", scan_.inputs)) {}

  void Compute(KernelContext& context) override {
    int64_t batch = -1, longest = -1;
    CheckInputs(context, batch, longest);
    const std::span<const int64_t> lengths = Lengths(context, batch, longest);
    std::vector<Value> in(scan_.states + scan_.inputs), out(scan_.states + scan_.outputs);
    std::vector<Tensor*> results(scan_.states + scan_.outputs, nullptr);
    bool started = false;
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t trips = lengths.empty() ? longest : lengths[static_cast<size_t>(b)];
      for (size_t i = 0; i < scan_.states; ++i) {
        const Tensor& state = context.required_input(1 + i);
        const int64_t size = state.num_elements() / batch;
        in[i] = Row(state, b * size, size, WithoutDims(state.shape(), 0, 1));
      }
      for (int64_t t = 0; t < trips; ++t) {
        for (size_t i = 0; i < scan_.inputs; ++i) {
          const Tensor& input = context.required_input(1 + scan_.states + i);
          const int64_t size = input.num_elements() / batch / longest;
          const int64_t row = directions_[i] == 0 ? t : trips - 1 - t;
          in[scan_.states + i] = Row(input, (b * longest + row) * size, size, WithoutDims(input.shape(), 0, 2));
        }
        scan_.Step(context, in, out);
        for (size_t i = 0; i < scan_.outputs; ++i) {
          Store(context, results, scan_.states + i, scan_.RowOf(out, i), {batch, longest}, b * longest + t, !started);
        }
        started = true;
      }
      for (size_t i = 0; i < scan_.states; ++i) Store(context, results, i, in[i].tensor(), {batch}, b, b == 0);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == nullptr && context.has_output(i)) StoreNothing(context, i, batch, longest);
    }
  }

 private:
  void CheckInputs(KernelContext& context, int64_t& batch, int64_t& longest) const {
    for (size_t i = 0; i < scan_.states + scan_.inputs; ++i) {
      const bool is_scan = i >= scan_.states;
      const Shape& shape = context.required_input(1 + i).shape();
      Require(shape.rank() >= (is_scan ? 2u : 1u), "input {} has rank {}, {} is expected at least", 1 + i, shape.rank(),
              is_scan ? 2 : 1);
      Require(batch < 0 || batch == shape[0], "input {} has {} batches, another has {}", 1 + i, shape[0], batch);
      batch = shape[0];
      if (!is_scan) continue;
      Require(longest < 0 || longest == shape[1], "input {} has {} rows, another has {}", 1 + i, shape[1], longest);
      longest = shape[1];
    }
  }

  static std::span<const int64_t> Lengths(KernelContext& context, int64_t batch, int64_t longest) {
    const Tensor* given = context.input(0);
    if (given == nullptr) return {};
    Require(given->is(ElementType::kInt64) && given->num_elements() == batch, "sequence_lens is {}, [{}] is expected",
            given->shape(), batch);
    for (const int64_t length : given->values<int64_t>()) {
      Require(length >= 0 && length <= longest, "sequence_lens holds {}, scan inputs have {} rows", length, longest);
    }
    return given->values<int64_t>();
  }

  /// Row `at` of output `output`, whose leading dimensions are `lead`; the output is made, all zero, when `first`.
  void Store(KernelContext& context, std::span<Tensor*> results, size_t output, const Tensor& row,
             std::initializer_list<int64_t> lead, int64_t at, bool first) const {
    if (!context.has_output(output)) return;
    Shape shape(lead);
    for (const int64_t dim : row.shape()) shape.Append(dim);
    if (first) {
      results[output] = context.output(output, row.type(), shape);
      if (row.is(ElementType::kString)) {
        for (std::string& text : results[output]->mutable_values<std::string>()) text.clear();
      } else if (results[output]->byte_size() > 0) {
        std::memset(results[output]->mutable_raw(), 0, results[output]->byte_size());
      }
    }
    Require(results[output] != nullptr && shape == results[output]->shape() && row.type() == results[output]->type(),
            "output {} is {} in one iteration and was another", output, row.shape());
    CopyElements(row, 0, *results[output], at * row.num_elements(), row.num_elements());
  }

  void StoreNothing(KernelContext& context, size_t i, int64_t batch, int64_t longest) const {
    const TypeInfo& row = scan_.body.output_type(i);
    Shape shape = ShapeWithoutRows(row, {}, batch, 0);
    if (i >= scan_.states) shape = WithDim(shape, 1, longest);
    Tensor* output = context.output(i, StatedType(scan_.types[i], row), shape);
    if (!output->is(ElementType::kString) && output->byte_size() > 0)
      std::memset(output->mutable_raw(), 0, output->byte_size());
  }

  ScanBody scan_;
  std::vector<int64_t> directions_;
};

}  // namespace

void RegisterScan(KernelRegistry& registry) {
  registry.Add(Op("Scan").Versions(8, 8).Make<BatchedScan>());
  registry.Add(Op("Scan").Versions(9).Make<Scan>());
}

}  // namespace tessera::cpu
