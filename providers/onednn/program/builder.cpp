#include "onednn/program/builder.h"

#include <algorithm>

#include "base/cancellation.h"
#include "base/check.h"
#include "graph/graph.h"
#include "graph/node_label.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/shared_weights.h"

namespace tessera::onednn {
namespace {

std::optional<dnnl::algorithm> BinaryAlgorithm(const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  if (node.op_type == "Add" || node.op_type == "Sum") return dnnl::algorithm::binary_add;
  if (node.op_type == "Mul") return dnnl::algorithm::binary_mul;
  return std::nullopt;
}

/// The type of 16 bits that the region's numbers are of. (Between two regions of other types stands a Cast.)
std::optional<DataType> HalfPrecisionOf(const GraphViewer& region) {
  for (const NodeIndex index : region.nodes()) {
    for (const ValueIndex output : region.node(index).outputs) {
      if (output == kNone) continue;
      const ElementType type = region.value(output).type.element;
      if (kHalfPrecision.contains(type)) return DataTypeOf(type);
    }
  }
  return std::nullopt;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const GraphViewer& region, std::span<const Shape> input_shapes, DataType operand_type,
                               Allocator& memory, const CompileContext& context)
    : region_(region),
      weights_(memory, context.packed),
      notes_(context.notes),
      half_precision_(HalfPrecisionOf(region)),
      operand_type_(half_precision_.value_or(operand_type)),
      program_(std::make_unique<Program>()) {
  program_->charge = MemoryCharge(memory);
  outputs_.insert(region.outputs().begin(), region.outputs().end());
  for (const NodeIndex index : region.nodes()) CountReaders(index, +1);
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    const Dims dims = ToDims(input_shapes[i]);
    values_[region.inputs()[i]] = {
        dims, AddMemory({.desc = Plain(AtLeastOne(dims), DataTypeOf(region.value(region.inputs()[i]).type.element)),
                         .kind = MemoryKind::kInput,
                         .index = static_cast<int>(i),
                         .constant = {}})};
  }
}

std::unique_ptr<Program> ProgramBuilder::Build() {
  for (NodeIndex index : region_.nodes()) {
    if (done_.contains(index)) continue;
    const Node& node = region_.node(index);
    SetDone(index);
    try {
      FindLowering(node)->lower(*this, node);
    } catch (const Error& error) {
      throw error.At(ModelLabel(region_.graph(), node));
    } catch (const dnnl::error& error) {
      Fail(ErrorCode::kEpFail, "{}: oneDNN: {}; {}", ModelLabel(region_.graph(), node), error.what(), kRemedy);
    }
  }
  FinishOutputs();
  for (const Command& command : program_->commands) {
    for (const auto& [argument, memory] : command.arguments) AlignConstant(memory);
  }
  program_->PlanTemporaries();
  return std::move(program_);
}

MemoryIndex ProgramBuilder::AddMemory(MemorySlot slot) {
  program_->charge.Add(sizeof(slot));
  program_->memories.push_back(std::move(slot));
  return static_cast<MemoryIndex>(program_->memories.size()) - 1;
}

void ProgramBuilder::AlignConstant(MemoryIndex memory) {
  MemorySlot& slot = program_->memories[static_cast<size_t>(memory)];
  if (slot.kind == MemoryKind::kConstant) slot.constant = weights_.Aligned(slot.constant);
  if (slot.kind == MemoryKind::kAlias) AlignConstant(slot.index);
}

void ProgramBuilder::SetValue(ValueIndex index, RegionValue value) {
  const GraphValue& declared = region_.value(index);
  const auto& shape = declared.type.shape;
  Require(!shape || declared.consumers.empty() || shape->size() == value.dims.size(),
          "the result has {} dimensions, the model declares {}: correct its value_info", value.dims.size(),
          shape ? shape->size() : 0);
  (void)Shape(value.dims).num_elements();  // refuses what no memory holds before strides are made of it
  values_in_[program_->Root(value.memory).first].push_back(index);
  values_[index] = std::move(value);
}

void ProgramBuilder::SetDone(NodeIndex node) {
  if (done_.insert(node).second) CountReaders(node, -1);
}

void ProgramBuilder::SetUndone(NodeIndex node) {
  if (done_.erase(node) != 0) CountReaders(node, +1);
}

void ProgramBuilder::CountReaders(NodeIndex node, int change) {
  for (const ValueIndex input : region_.node(node).inputs) {
    if (input != kNone) readers_[input] += change;
  }
}

RegionValue ProgramBuilder::input(const Node& node, size_t i) {
  const ValueIndex index = node.inputs[i];
  const auto found = values_.find(index);
  if (found != values_.end()) return found->second;
  const Tensor* tensor = region_.constant(index);
  Require(tensor != nullptr && (kFloats | kQuantized | kAccumulators).contains(tensor->type()),
          "input {} is not a tensor of floats, 8-bit integers or int32", i);
  const Dims dims = ToDims(tensor->shape());
  const Desc plain = Plain(AtLeastOne(dims), DataTypeOf(tensor->type()));
  MemorySlot slot{.desc = plain, .kind = MemoryKind::kConstant, .constant = SharedWeights::Plain(*tensor, plain)};
  return values_[index] = {dims, AddMemory(std::move(slot))};
}

MemoryIndex ProgramBuilder::InLayout(MemoryIndex memory, const Desc& desc) {
  const MemorySlot& source = program_->memories[static_cast<size_t>(memory)];
  if (source.desc == desc) return memory;
  auto key = std::pair(memory, LayoutKey(desc));
  if (const auto found = reordered_.find(key); found != reordered_.end()) return found->second;
  MemoryIndex result;
  if (source.kind == MemoryKind::kConstant) {
    program_->charge.Add(desc.get_size());
    MemorySlot slot{.desc = desc, .kind = MemoryKind::kConstant, .constant = weights_.InLayout(source.constant, desc)};
    result = AddMemory(std::move(slot));
  } else {
    result = Temporary(desc);
    Reorder(memory, result);
  }
  for (const MemoryIndex other : {memory, result}) reorders_of_[program_->Root(other).first].push_back(key);
  reordered_.emplace(std::move(key), result);
  return result;
}

MemoryIndex ProgramBuilder::Alias(MemoryIndex memory, const Desc& desc) {
  if (this->desc(memory) == desc) return memory;
  const MemorySlot& source = program_->memories[static_cast<size_t>(memory)];
  if (source.kind == MemoryKind::kConstant) {
    MemorySlot slot{.desc = desc, .kind = MemoryKind::kConstant, .constant = SharedWeights::Viewed(source.constant, desc)};
    return AddMemory(std::move(slot));
  }
  // Of what lies beneath: views of views of views are as many as a model has nodes.
  const auto [root, offset] = program_->Root(memory);
  return AddMemory({.desc = desc, .kind = MemoryKind::kAlias, .index = root, .offset = offset, .constant = {}});
}

std::optional<MemoryIndex> ProgramBuilder::Part(MemoryIndex memory, const Box& box) {
  const Desc whole = desc(memory);
  Box part = box;
  const Dims dims = DimsOf(whole);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) continue;
    part.first[i] = 0;
    part.count[i] = 1;
  }
  if (part.count == dims) return memory;
  if (constant(memory) != nullptr) return std::nullopt;
  const auto inside = BoxInside(whole, part.first, part.count);
  if (!inside) return std::nullopt;
  return AddMemory(
      {.desc = inside->desc, .kind = MemoryKind::kAlias, .index = memory, .offset = inside->offset, .constant = {}});
}

void ProgramBuilder::AddInBoxes(MemoryIndex result, const std::vector<MemoryIndex>& operands, double ns_per_byte,
                                FunctionRef<void(std::span<const MemoryIndex>)> add, size_t kept) {
  auto bytes = static_cast<double>(desc(result).get_size());
  for (const MemoryIndex operand : operands) bytes += static_cast<double>(desc(operand).get_size());
  AddInBoxes(result, operands, AllAxes(dims(result), kept), ns_per_byte * bytes, add);
}

void ProgramBuilder::AddInBoxes(MemoryIndex result, const std::vector<MemoryIndex>& operands, std::vector<CutAxis> axes,
                                double ns, FunctionRef<void(std::span<const MemoryIndex>)> add) {
  std::vector<MemoryIndex> whole = {result};
  whole.insert(whole.end(), operands.begin(), operands.end());
  const Dims dims = this->dims(result);
  // What of a memory belongs to a box of the result.
  const auto part_of = [&](MemoryIndex memory, Box box) {
    const Dims own = this->dims(memory);
    for (size_t i = 0; i < own.size(); ++i) {
      if (box.count[i] == dims[i]) box.count[i] = own[i];
    }
    return Part(memory, box);
  };
  std::erase_if(axes, [&](const CutAxis& cut) {
    return std::any_of(whole.begin(), whole.end(), [&](MemoryIndex memory) {
      Dims count = this->dims(memory);
      return std::exchange(count[cut.axis], std::min(cut.multiple, count[cut.axis])) > 1 &&
             !BoxInside(desc(memory), Dims(count.size(), 0), count);
    });
  });
  std::vector<std::vector<MemoryIndex>> parts;
  for (const Box& box : BoxesOf(dims, axes, ns)) {
    auto& part = parts.emplace_back();
    for (const MemoryIndex memory : whole) {
      const auto of_box = part_of(memory, box);
      if (!of_box) return add(whole);
      part.push_back(*of_box);
    }
  }
  for (const auto& part : parts) {
    CancellationPoint();
    add(part);
  }
}

bool ProgramBuilder::AddOperands(const Fusion& fusion, MemoryIndex output, const Box& box,
                                 std::vector<std::pair<int, MemoryIndex>>& arguments) {
  for (size_t i = 0; i < fusion.ops.size(); ++i) {
    if (fusion.ops[i].eltwise || fusion.ops[i].in_place) continue;
    const auto part = Part(InLayout(fusion.ops[i].operand.memory, desc(output)), box);
    if (!part) return false;
    arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1, *part);
  }
  return true;
}

MemoryIndex ProgramBuilder::Temporary(const Desc& desc) {
  return AddMemory({.desc = desc, .kind = MemoryKind::kTemporary, .constant = {}});
}

MemoryIndex ProgramBuilder::Constant(const Dims& dims, std::span<const float> values) {
  MemorySlot slot{.desc = Plain(dims), .kind = MemoryKind::kConstant, .constant = SharedWeights::Made(Plain(dims), values)};
  return AddMemory(std::move(slot));
}

MemoryIndex ProgramBuilder::Constant(const Desc& desc, std::shared_ptr<const dnnl::memory> memory) {
  return AddMemory({.desc = desc, .kind = MemoryKind::kConstant, .constant = std::move(memory)});
}

bool ProgramBuilder::PlaceInside(MemoryIndex part, MemoryIndex whole, const Dims& offsets) {
  MemorySlot& slot = program_->memories[static_cast<size_t>(part)];
  if (slot.kind != MemoryKind::kTemporary) return false;
  const auto offset = OffsetInside(desc(whole), slot.desc, offsets);
  if (!offset || parts_deep_[part] >= kDeepestPart) return false;
  parts_deep_[whole] = std::max(parts_deep_[whole], parts_deep_[part] + 1);
  slot.kind = MemoryKind::kAlias;
  slot.index = whole;
  slot.offset = *offset;
  // What lay in the part lies in the whole now.
  const MemoryIndex root = program_->Root(whole).first;
  const auto move = [&](auto& lists) {
    const auto from = lists.find(part);
    if (from == lists.end()) return;
    auto held = std::move(from->second);
    lists.erase(from);
    auto& into = lists[root];
    into.insert(into.end(), held.begin(), held.end());
  };
  move(values_in_);
  move(reorders_of_);
  return true;
}

void ProgramBuilder::Reorder(MemoryIndex from, MemoryIndex to) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  AddInBoxes(to, {from}, 1, [&](std::span<const MemoryIndex> part) {
    const dnnl::reorder::primitive_desc reorder(CpuEngine(), desc(part[1]), CpuEngine(), desc(part[0]), attr);
    const Desc scratchpad = reorder.scratchpad_desc();
    Add(dnnl::reorder(reorder), {{DNNL_ARG_FROM, part[1]}, {DNNL_ARG_TO, part[0]}}, &scratchpad);
  });
}

void ProgramBuilder::Add(dnnl::primitive primitive, std::vector<std::pair<int, MemoryIndex>> arguments,
                         const Desc* scratchpad) {
  // Some of oneDNN 2.6's primitives divide by a batch of 0: what gives nothing is not run.
  const auto gives_nothing = [&](const auto& argument) {
    return argument.first == DNNL_ARG_DST && IsEmpty(desc(argument.second));
  };
  if (std::any_of(arguments.begin(), arguments.end(), gives_nothing)) return;
  if (scratchpad != nullptr && scratchpad->get_size() > 0) {
    arguments.emplace_back(DNNL_ARG_SCRATCHPAD, Temporary(*scratchpad));
  }
  program_->commands.push_back({std::move(primitive), std::move(arguments)});
}

void ProgramBuilder::AddNative(std::shared_ptr<const NativeStep> step, const std::vector<MemoryIndex>& memories) {
  Command command;
  command.native = std::move(step);
  for (MemoryIndex memory : memories) command.arguments.emplace_back(0, memory);
  program_->commands.push_back(std::move(command));
}

const Node* ProgramBuilder::OnlyConsumer(ValueIndex index) const {
  const GraphValue& value = region_.value(index);
  if (value.is_output || value.consumers.size() != 1 || !region_.contains(value.consumers[0])) return nullptr;
  const Node& consumer = region_.node(value.consumers[0]);
  return region_.graph().ReadsOnce(consumer.index, index) && !done_.contains(consumer.index) ? &consumer : nullptr;
}

const Node* ProgramBuilder::SwishOf(const Node& sigmoid) const {
  if (!sigmoid.domain.empty() || sigmoid.op_type != "Sigmoid") return nullptr;
  const Node* mul = OnlyConsumer(sigmoid.outputs[0]);
  if (mul == nullptr || !mul->domain.empty() || mul->op_type != "Mul") return nullptr;
  const size_t other = mul->inputs[0] == sigmoid.outputs[0] ? 1 : 0;
  return mul->inputs[other] == sigmoid.inputs[0] ? mul : nullptr;
}

const Node* ProgramBuilder::OnlySwish(ValueIndex index) const {
  const GraphValue& value = region_.value(index);
  if (value.is_output || value.consumers.size() != 2) return nullptr;
  for (size_t i = 0; i < 2; ++i) {
    if (!region_.contains(value.consumers[i]) || done_.contains(value.consumers[i])) return nullptr;
  }
  for (size_t i = 0; i < 2; ++i) {
    const Node& sigmoid = region_.node(value.consumers[i]);
    const Node* mul = SwishOf(sigmoid);
    if (mul != nullptr && mul->index == value.consumers[1 - i]) return &sigmoid;
  }
  return nullptr;
}

ProgramBuilder::Fusion::Op ProgramBuilder::FollowerOf(ValueIndex value, const Dims& output) const {
  Fusion::Op op;
  const auto elementwise = [&](const Eltwise& eltwise, NodeIndex node) {
    op.eltwise = eltwise.algorithm;
    op.alpha = eltwise.alpha;
    op.beta = eltwise.beta;
    op.node = node;
  };
  if (const Node* sigmoid = OnlySwish(value)) {
    elementwise({dnnl::algorithm::eltwise_swish, 1.0f}, SwishOf(*sigmoid)->index);
    op.gate = sigmoid->index;
    return op;
  }
  const Node* next = OnlyConsumer(value);
  if (next == nullptr || next->outputs.size() != 1) return op;
  if (const auto eltwise = AsEltwise(region_, *next)) {
    elementwise(*eltwise, next->index);
  } else if (const auto binary = BinaryAlgorithm(*next)) {
    // The other operand must be there already, and of the output's own shape.
    const size_t other = next->inputs[0] == value ? 1 : 0;
    const auto found = values_.find(next->inputs[other]);
    if (found == values_.end() || found->second.dims != output) return op;
    op.binary = *binary;
    op.operand = found->second;
    op.node = next->index;
  }
  return op;
}

ProgramBuilder::Fusion ProgramBuilder::FuseFollowers(ValueIndex value, const Dims& output, bool keeps_nan) {
  // Who asks for rounded operands gets their speed.
  keeps_nan = keeps_nan || (rounds() && !half_precision());
  constexpr size_t kMostPostOps = 8;
  Fusion fusion;
  fusion.start = fusion.result = value;
  while (fusion.ops.size() < kMostPostOps) {
    Fusion::Op op = FollowerOf(fusion.result, output);
    // oneDNN before 3.1 computes each function of a chain with the parameters that it had first.
    const bool differs = std::any_of(fusion.ops.begin(), fusion.ops.end(), [&](const Fusion::Op& other) {
      return other.eltwise == op.eltwise && (other.alpha != op.alpha || other.beta != op.beta);
    });
    if (op.node == kNone || differs || (!keeps_nan && op.eltwise && LosesNan({*op.eltwise, op.alpha, op.beta}))) break;
    SetDone(op.node);
    if (op.gate != kNone) SetDone(op.gate);
    fusion.result = region_.node(op.node).outputs[0];
    fusion.ops.push_back(std::move(op));
  }
  return fusion;
}

bool ProgramBuilder::IsNeeded(ValueIndex value) const {
  if (outputs_.contains(value)) return true;
  const auto readers = readers_.find(value);
  return readers != readers_.end() && readers->second > 0;
}

std::optional<MemoryIndex> ProgramBuilder::Fusion::destination() const {
  for (const Op& op : ops) {
    if (op.in_place) return op.operand.memory;
  }
  return std::nullopt;
}

void ProgramBuilder::AddInPlace(Fusion& fusion, const Desc& output, const std::vector<MemoryIndex>& read) {
  if (fusion.destination()) return;
  for (Fusion::Op& op : fusion.ops) {
    const MemoryIndex memory = op.operand.memory;
    if (op.eltwise || op.binary != dnnl::algorithm::binary_add) continue;
    if (program_->memories[static_cast<size_t>(memory)].kind != MemoryKind::kTemporary || desc(memory) != output) continue;
    const auto reads = [&](MemoryIndex other) { return program_->Root(other).first == memory; };
    const auto readers = std::count_if(fusion.ops.begin(), fusion.ops.end(), [&](const Fusion::Op& other) {
      return !other.eltwise && reads(other.operand.memory);
    });
    if (readers > 1 || std::any_of(read.begin(), read.end(), reads)) continue;
    auto& held = values_in_[memory];
    if (std::any_of(held.begin(), held.end(), [&](ValueIndex value) { return IsNeeded(value); })) continue;
    // What was done before this chain stays so: nobody has to look at it again.
    const auto read_here = [&](ValueIndex value) {
      return std::any_of(fusion.ops.begin(), fusion.ops.end(), [&](const Fusion::Op& other) {
        const auto reads_it = [&](NodeIndex node) {
          return node != kNone && std::ranges::find(region_.node(node).inputs, value) != region_.node(node).inputs.end();
        };
        return reads_it(other.node) || reads_it(other.gate);
      });
    };
    std::erase_if(held, [&](ValueIndex value) { return !read_here(value); });
    // Neither copies of what it held are of use any more, nor it itself as another's copy.
    for (const auto& key : std::exchange(reorders_of_[memory], {})) reordered_.erase(key);
    op.in_place = true;
    return;
  }
}

bool ProgramBuilder::TakeOver(MemoryIndex memory) {
  if (program_->memories[static_cast<size_t>(memory)].kind != MemoryKind::kTemporary) return false;
  auto& held = values_in_[memory];
  if (std::any_of(held.begin(), held.end(), [&](ValueIndex value) { return IsNeeded(value); })) return false;
  held.clear();
  for (const auto& key : std::exchange(reorders_of_[memory], {})) reordered_.erase(key);
  return true;
}

void ProgramBuilder::Unfuse(Fusion& fusion, size_t keep) {
  while (fusion.ops.size() > keep) {
    SetUndone(fusion.ops.back().node);
    if (fusion.ops.back().gate != kNone) SetUndone(fusion.ops.back().gate);
    fusion.ops.pop_back();
  }
  fusion.result = fusion.ops.empty() ? fusion.start : region_.node(fusion.ops.back().node).outputs[0];
}

void ProgramBuilder::FollowAffine(ChannelAffine& affine, ValueIndex& value, const Dims& dims) {
  for (const Node* next = OnlyConsumer(value); next != nullptr && affine.Append(region_, *next, value, dims);
       next = OnlyConsumer(value)) {
    SetDone(next->index);
    value = next->outputs[0];
  }
}

std::optional<MemoryIndex> ProgramBuilder::FollowBias(ValueIndex& value, int64_t columns) {
  const Node* next = OnlyConsumer(value);
  if (next == nullptr || !next->domain.empty() || next->op_type != "Add") return std::nullopt;
  const size_t other = next->inputs[0] == value ? 1 : 0;
  const Tensor* bias = constant(*next, other);
  if (bias == nullptr || !kFloats.contains(bias->type()) || bias->num_elements() != columns) return std::nullopt;
  const auto& shape = region_.value(value).type.shape;
  const size_t rank = bias->shape().rank();
  if (rank == 0 || rank > (shape ? shape->size() : 1) || bias->shape()[rank - 1] != columns) return std::nullopt;
  const MemoryIndex memory = Alias(InPlainLayout(input(*next, other)), Plain({1, columns}));
  SetDone(next->index);
  value = next->outputs[0];
  return memory;
}

bool ProgramBuilder::FeedsMatMuls(ValueIndex index) const {
  const GraphValue& value = region_.value(index);
  return !value.is_output && std::all_of(value.consumers.begin(), value.consumers.end(), [&](NodeIndex consumer) {
    if (!region_.contains(consumer)) return false;
    const Node& node = region_.node(consumer);
    return node.domain.empty() && (node.op_type == "MatMul" || node.op_type == "Gemm") && node.inputs[0] == index &&
           node.inputs[1] != index;
  });
}

void ProgramBuilder::AddFused(dnnl::primitive primitive, std::vector<std::pair<int, MemoryIndex>> arguments,
                              const Desc& scratchpad, const Fusion& fusion, RegionValue output) {
  for (size_t i = 0; i < fusion.ops.size(); ++i) {
    if (fusion.ops[i].eltwise || fusion.ops[i].in_place) continue;
    arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
                           InLayout(fusion.ops[i].operand.memory, desc(output.memory)));
  }
  Add(std::move(primitive), std::move(arguments), &scratchpad);
  SetValue(fusion.result, std::move(output));
}

void ProgramBuilder::FinishOutputs() {
  std::set<MemoryIndex> given;
  for (size_t i = 0; i < region_.outputs().size(); ++i) {
    const RegionValue& value = values_.at(region_.outputs()[i]);
    program_->output_shapes.emplace_back(std::span<const int64_t>(value.dims));
    MemorySlot& slot = program_->memories[static_cast<size_t>(value.memory)];
    const Desc plain = Plain(AtLeastOne(value.dims), DataTypeOf(region_.value(region_.outputs()[i]).type.element));
    if (slot.kind == MemoryKind::kTemporary && slot.desc == plain && given.insert(value.memory).second) {
      slot.kind = MemoryKind::kOutput;
      slot.index = static_cast<int>(i);
      continue;
    }
    const MemoryIndex target =
        AddMemory({.desc = plain, .kind = MemoryKind::kOutput, .index = static_cast<int>(i), .constant = {}});
    Reorder(value.memory, target);
  }
}

}  // namespace tessera::onednn
