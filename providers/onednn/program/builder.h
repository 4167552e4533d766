#pragma once

// Builds a Program: follows each value's layout through the region, reorders only where a primitive or the border asks.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "onednn/program/channel_affine.h"
#include "onednn/program/parts.h"
#include "onednn/program/program.h"
#include "onednn/program/shared_weights.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/provider/function_ref.h"
#include "tessera/provider/graph.h"

namespace tessera::onednn {

/// oneDNN has no rank 0: a scalar is one element.
inline Dims AtLeastOne(Dims dims) { return dims.empty() ? Dims{1} : dims; }

/// What helps where oneDNN refuses at run time what it seemed able to do.
inline constexpr std::string_view kRemedy =
    "leave DnnlExecutionProvider out of the session's providers to compute it on another";

/// A value of the region: its logical dimensions and where its elements are.
struct RegionValue {
  Dims dims;
  MemoryIndex memory = -1;
};

class ProgramBuilder {
 public:
  /// `memory`: what the program keeps counts there.
  ProgramBuilder(const GraphViewer& region, std::span<const Shape> input_shapes, DataType operand_type, Allocator& memory,
                 const CompileContext& context);

  /// Lowers every node. Throws Error or dnnl::error.
  std::unique_ptr<Program> Build();

  // --- for lowerings ----------------------------------------------------------------------------------------------------
  const GraphViewer& region() const noexcept { return region_; }
  bool has_input(const Node& node, size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNone; }
  const Tensor* constant(const Node& node, size_t i) const {
    return has_input(node, i) ? region_.constant(node.inputs[i]) : nullptr;
  }
  /// Input `i` as computed so far, constants included.
  RegionValue input(const Node& node, size_t i);
  /// A copy: what is added moves the descriptions.
  Desc desc(MemoryIndex memory) const { return program_->memories[static_cast<size_t>(memory)].desc; }

  Dims dims(MemoryIndex memory) const { return DimsOf(desc(memory)); }

  /// What the operands of matmuls and convolutions are rounded to; accumulators are float32. (oneDNN 2.6 takes fpmath_mode,
  /// which means the same, and ignores it.) Our own steps compute in float32 only.
  DataType operand_type() const noexcept { return operand_type_; }
  bool rounds() const noexcept { return operand_type_ != DataType::f32; }
  /// Whether the model's own numbers are of 16 bits: what is computed stays rounded.
  bool half_precision() const noexcept { return half_precision_.has_value(); }

  /// Where constants take other forms.
  const SharedWeights& weights() const noexcept { return weights_; }
  /// Of the fastest implementations; null: the usual ones are taken.
  ImplementationNotes* notes() const noexcept { return notes_; }

  void CountOperations(double count) { program_->operations += count; }

  /// The same elements in layout `desc`; a reorder is added when they are in another. Constants are reordered once, now,
  /// and shared by every program of the process that asks for the same.
  MemoryIndex InLayout(MemoryIndex memory, const Desc& desc);
  /// Row-major; what is rounded becomes float32 again.
  MemoryIndex InPlainLayout(const RegionValue& value) {
    return InLayout(value.memory, Plain(AtLeastOne(value.dims), Unrounded(TypeOf(desc(value.memory)))));
  }
  /// Row-major, of the type that it lies in where that is the model's or a constant's own.
  MemoryIndex InRows(const RegionValue& value) {
    const DataType type = TypeOf(desc(value.memory));
    const bool keeps = half_precision() || constant(value.memory) != nullptr;
    return InLayout(value.memory, Plain(AtLeastOne(value.dims), keeps ? type : Unrounded(type)));
  }
  /// The same bytes (plain layout) under another description.
  MemoryIndex Alias(MemoryIndex memory, const Desc& desc);
  MemoryIndex Temporary(const Desc& desc);
  /// A constant made here: `values` in plain layout of `dims`.
  MemoryIndex Constant(const Dims& dims, std::span<const float> values);
  MemoryIndex Constant(const Desc& desc, std::shared_ptr<const dnnl::memory> memory);
  /// Lets a temporary that `concat` would copy from live inside it from the start; false when it must be copied.
  bool PlaceInside(MemoryIndex part, MemoryIndex whole, const Dims& offsets);
  /// A box of a memory; along axes where it has one element, and the box not, that one. Nothing where the layout does not
  /// allow it.
  std::optional<MemoryIndex> Part(MemoryIndex memory, const Box& box);
  /// Adds what computes `result` from operands of as many dimensions, box by box: add(memories) gets the box's result and
  /// then what it reads of the operands, which along axes that are cut have the result's size or 1. `ns`: of all, on one
  /// thread.
  void AddInBoxes(MemoryIndex result, const std::vector<MemoryIndex>& operands, std::vector<CutAxis> axes, double ns,
                  FunctionRef<void(std::span<const MemoryIndex>)> add);
  /// The same along all axes but `kept`; `ns_per_byte`: of what is read and written.
  void AddInBoxes(MemoryIndex result, const std::vector<MemoryIndex>& operands, double ns_per_byte,
                  FunctionRef<void(std::span<const MemoryIndex>)> add, size_t kept = static_cast<size_t>(-1));
  /// Elements of one layout into another of the same dimensions.
  void Reorder(MemoryIndex from, MemoryIndex to);

  /// Adds a primitive. With a user scratchpad: adds its memory.
  void Add(dnnl::primitive primitive, std::vector<std::pair<int, MemoryIndex>> arguments, const Desc* scratchpad = nullptr);

  /// Adds a step of our own, which gets the elements of these memories in this order.
  void AddNative(std::shared_ptr<const NativeStep> step, const std::vector<MemoryIndex>& memories);
  /// The elements of a constant; null for any other memory.
  std::shared_ptr<const dnnl::memory> constant(MemoryIndex memory) const {
    return program_->memories[static_cast<size_t>(memory)].constant;
  }

  void SetOutput(const Node& node, RegionValue value) { SetOutput(node, 0, std::move(value)); }
  /// Output `i`, where the node has it.
  void SetOutput(const Node& node, size_t i, RegionValue value) {
    if (i < node.outputs.size() && node.outputs[i] != kNone) SetValue(node.outputs[i], std::move(value));
  }

  /// Elementwise operators that directly follow a primitive and nothing else reads: they run inside it, and are done.
  struct Fusion {
    struct Op {
      std::optional<dnnl::algorithm> eltwise;
      float alpha = 0, beta = 0;
      dnnl::algorithm binary = dnnl::algorithm::undef;
      RegionValue operand;  // of a binary operator: the output's shape
      NodeIndex node = kNone;
      NodeIndex gate = kNone;  // of x * Sigmoid(x): the Sigmoid
      bool in_place = false;   // an addition to what the destination holds
    };
    std::vector<Op> ops;
    ValueIndex result = kNone;
    ValueIndex start = kNone;

    /// The memory to write to, when an addition happens in place.
    std::optional<MemoryIndex> destination() const;
    /// For a primitive whose output has this layout.
    dnnl::primitive_attr Attributes(const Desc& output) const;
  };
  /// `keeps_nan`: whether what runs them does, as oneDNN's primitives don't in every operator.
  Fusion FuseFollowers(ValueIndex value, const Dims& output, bool keeps_nan = false);
  /// Whether nothing but what is added next reads a temporary, which may write its result there then.
  bool TakeOver(MemoryIndex memory);
  /// x * Sigmoid(x): the Mul, when nothing else needs this Sigmoid.
  const Node* SwishOf(const Node& sigmoid) const;
  /// Says that `node` is lowered, within another.
  void MarkDone(const Node& node) { SetDone(node.index); }
  /// When one of the operators adds a value that nothing else needs any more, in the layout of the output: the addition
  /// happens in place, in the fusion's destination. Not in one of `read`, which the primitive reads while it writes.
  void AddInPlace(Fusion& fusion, const Desc& output, const std::vector<MemoryIndex>& read);
  /// Gives back all but the first `keep` operators.
  void Unfuse(Fusion& fusion, size_t keep);
  /// Takes up the operators after `value` (a node's output of these dimensions) that scale and shift channels by constants,
  /// and moves `value` to the last one's output.
  void FollowAffine(ChannelAffine& affine, ValueIndex& value, const Dims& dims);
  /// Takes up the addition after `value` (rows of `columns` numbers) of a constant for each column, moves `value` to its
  /// output, and gives the constant; nothing where that is not all that reads the value.
  std::optional<MemoryIndex> FollowBias(ValueIndex& value, int64_t columns);
  /// Whether only matmuls read the value, as their first operand: it may lie rounded as they want it.
  bool FeedsMatMuls(ValueIndex value) const;
  /// Adds a primitive with what was fused into it; `output` is where the chain's last value lies.
  void AddFused(dnnl::primitive primitive, std::vector<std::pair<int, MemoryIndex>> arguments, const Desc& scratchpad,
                const Fusion& fusion, RegionValue output);
  /// The other operands of what was fused, as arguments of a primitive that computes `box` of the output; false where they
  /// can't be cut.
  bool AddOperands(const Fusion& fusion, MemoryIndex output, const Box& box,
                   std::vector<std::pair<int, MemoryIndex>>& arguments);
  /// Says where a fused chain's last value lies, when the caller added the primitive itself.
  void SetFused(const Fusion& fusion, RegionValue value) { SetValue(fusion.result, std::move(value)); }

 private:
  /// A primitive reads its constants aligned.
  void AlignConstant(MemoryIndex memory);
  void SetValue(ValueIndex index, RegionValue value);
  const Node* OnlyConsumer(ValueIndex value) const;
  /// The Sigmoid of x * Sigmoid(x), when nothing else needs the value.
  const Node* OnlySwish(ValueIndex value) const;
  /// The operator that alone reads the value, as something to fuse; its node stays kNone when it is none.
  Fusion::Op FollowerOf(ValueIndex value, const Dims& output) const;
  bool IsNeeded(ValueIndex value) const;
  void SetDone(NodeIndex node);
  void SetUndone(NodeIndex node);
  /// How many more nodes of the region will read each of the node's inputs.
  void CountReaders(NodeIndex node, int change);
  void FinishOutputs();
  MemoryIndex AddMemory(MemorySlot slot);

  const GraphViewer& region_;
  const SharedWeights weights_;
  ImplementationNotes* const notes_;
  const std::optional<DataType> half_precision_;
  const DataType operand_type_;
  std::unique_ptr<Program> program_;
  std::map<ValueIndex, RegionValue> values_;
  std::map<std::pair<MemoryIndex, std::string>, MemoryIndex> reordered_;
  // What lies in each memory, by its root: the values, and the reorders from and into it.
  std::map<MemoryIndex, std::vector<ValueIndex>> values_in_;
  std::map<MemoryIndex, std::vector<std::pair<MemoryIndex, std::string>>> reorders_of_;
  /// Parts of parts of parts: a memory that holds as deep ones is part of no other, so that finding what a view looks at
  /// stays cheap.
  static constexpr int kDeepestPart = 32;
  std::map<MemoryIndex, int> parts_deep_;
  std::set<NodeIndex> done_;
  std::set<ValueIndex> outputs_;           // of the region
  std::map<ValueIndex, int64_t> readers_;  // nodes of the region that are not done
};

}  // namespace tessera::onednn
