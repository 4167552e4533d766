#include "runtime/frame.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/value_type.h"
#include "graph/graph.h"
#include "runtime/memory/own_value.h"

namespace tessera {
namespace {

bool Overlaps(const Tensor& tensor, const Tensor& buffer) noexcept {
  const auto* begin = static_cast<const std::byte*>(buffer.raw());
  const auto* data = static_cast<const std::byte*>(tensor.raw());
  return data == begin || (data > begin && data < begin + buffer.byte_size());
}

/// Fewer buffers are looked at one by one.
constexpr size_t kFewBuffers = 32;

/// Readers were made for the type and the rank that inference found or, where it finds nothing, the model declares.
void CheckType(const Slot& slot, ElementType type, const Shape& shape) {
  if (slot.rank != kNone && static_cast<size_t>(slot.rank) != shape.rank()) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument,
         "output '{}' has shape {}, but the model declares {} dimensions: correct its value_info", slot.name,
         shape.ToString(), slot.rank);
  }
  if (slot.element != type && slot.element != ElementType::kUndefined) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument, "output '{}' is tensor({}), but the model declares tensor({})", slot.name,
         ElementTypeName(type), ElementTypeName(slot.element));
  }
}

/// The same for what is no tensor, and for slots that may hold other things.
void CheckValue(const Plan& plan, const Slot& slot, const Value& value) {
  const TypeInfo& declared = plan.graph->value(slot.value).type;
  if (Fits(value, declared)) [[likely]]
    return;
  Fail(ErrorCode::kInvalidArgument, "output '{}' is {}, but the model declares {}", slot.name, value.type(), declared);
}

}  // namespace

SlotIndex BufferFinder::Find(std::span<const SlotIndex> slots, const std::vector<Value>& values, const Tensor& tensor) {
  const auto tensor_of = [&](SlotIndex slot) {
    return slot == kNone ? nullptr : values[static_cast<size_t>(slot)].tensor_if();
  };
  if (slots.size() <= kFewBuffers) {
    SlotIndex found = kNone;
    for (const SlotIndex slot : slots) {
      const Tensor* other = tensor_of(slot);
      if (other != nullptr && Overlaps(tensor, *other)) found = slot;
    }
    return found;
  }
  if (!known_) {
    buffers_.clear();
    for (const SlotIndex slot : slots) {
      const Tensor* other = tensor_of(slot);
      if (other == nullptr) continue;
      const auto* begin = static_cast<const std::byte*>(other->raw());
      buffers_.push_back({begin, begin + other->byte_size(), slot});
    }
    std::sort(buffers_.begin(), buffers_.end(),
              [](const Buffer& a, const Buffer& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
    for (size_t i = 1; i < buffers_.size(); ++i) {
      if (buffers_[i - 1].end > buffers_[i].end)
        buffers_[i].end = buffers_[i - 1].end, buffers_[i].slot = buffers_[i - 1].slot;
    }
    known_ = true;
  }
  const auto* data = static_cast<const std::byte*>(tensor.raw());
  const auto after = std::upper_bound(buffers_.begin(), buffers_.end(), data,
                                      [](const std::byte* at, const Buffer& buffer) { return at < buffer.begin; });
  if (after == buffers_.begin()) return kNone;
  const Buffer& last = *std::prev(after);
  return last.begin == data || data < last.end ? last.slot : kNone;
}

Frame::Frame(const Plan& plan, const SessionResources& resources)
    : plan_(plan),
      resources_(resources),
      values_(plan.slots.size()),
      bindings_(plan.slots.size()),
      scratch_(*resources.memories[SessionResources::kHost].allocator) {
  input_pointers_.reserve(plan.input_slots.size());
  for (const SlotIndex slot : plan.input_slots) {
    input_pointers_.push_back(slot == kNone ? nullptr : &values_[static_cast<size_t>(slot)]);
  }
  for (const auto& [slot, constant] : plan.constants) value(slot) = constant;
  if (resources.has_streams) {
    for (const ProviderEntry& entry : resources.providers) {
      streams.push_back(entry.memory == SessionResources::kHost ? nullptr : entry.provider->CreateStream());
    }
  }
}

Frame::~Frame() {
  for (Value& value : values_) value = Value();  // before the buffers that they look at
  DropBuffers();
}

Allocator& Frame::allocator_of(SlotIndex slot) const noexcept {
  return *resources_.memories[static_cast<size_t>(plan_.slots[static_cast<size_t>(slot)].memory)].allocator;
}

bool Frame::PartsAreInPlace(const Step& step, const BufferBinding& binding) const noexcept {
  const auto inputs = inputs_of(step);
  const auto* at = static_cast<const std::byte*>(binding.data);
  for (size_t i = 0; i < inputs.size(); at += (*binding.parts)[i++].bytes) {
    const MemoryPlan::Part& part = (*binding.parts)[i];
    const Tensor* tensor = inputs[i] == nullptr ? nullptr : inputs[i]->tensor_if();
    if (tensor == nullptr || tensor->byte_size_ != part.bytes || (part.in_place && tensor->data_ != at)) return false;
  }
  return true;
}

void Frame::TraceJoin(const Step& step) {
  MemoryTrace::Join join{.step = static_cast<int32_t>(&step - plan_.steps.data()), .bytes = {}};
  for (const Value* input : inputs_of(step)) {
    const Tensor* tensor = input == nullptr ? nullptr : input->tensor_if();
    join.bytes.push_back(tensor == nullptr ? 0 : tensor->byte_size_);
  }
  trace_->joins.push_back(std::move(join));
}

Tensor* Frame::Rebind(const Step& step, SlotIndex slot, ElementType type, const Shape& shape, bool joined) {
  if (type == ElementType::kUndefined) {
    Fail(ErrorCode::kInvalidGraph, "the element type of output '{}' is not known: the model must state it (value_info)",
         plan_.slots[static_cast<size_t>(slot)].name);
  }
  CheckType(plan_.slots[static_cast<size_t>(slot)], type, shape);
  BufferBinding& binding = bindings_[static_cast<size_t>(slot)];
  Value& value = values_[static_cast<size_t>(slot)];
  if (binding.caller) {
    Tensor* tensor = value.tensor_if();
    if (tensor != nullptr && tensor->data_ == binding.data) {
      Fail(ErrorCode::kInvalidArgument,
           "output '{}' is {} {}, but the buffer given for it is {} {}; give one that fits, or none",
           plan_.slots[static_cast<size_t>(slot)].name, ElementTypeName(type), shape.ToString(),
           ElementTypeName(tensor->type_), tensor->shape_.ToString());
    }
  }
  const int64_t count = shape.num_elements();
  const size_t bytes = ByteSize(type, count);
  if (binding.data != nullptr && !binding.caller && bytes <= binding.bytes && type != ElementType::kString &&
      MayWriteTo(step, binding, bytes, joined)) {
    const MemoryInfo& memory = allocator_of(slot).memory();
    if (Tensor* tensor = value.tensor_if(); tensor != nullptr) {
      tensor->type_ = type;
      tensor->shape_ = shape;
      tensor->num_elements_ = count;
      tensor->byte_size_ = bytes;
      tensor->data_ = binding.data;
      tensor->owner_.reset();
      tensor->memory_ = memory;
    } else {
      value = Tensor(type, shape, binding.data, nullptr, memory);
    }
    return value.tensor_if();
  }
  if (!TakeInput(step, slot, type, shape)) value = Tensor(type, shape, allocator_of(slot));
  if (trace_ != nullptr) {
    MemoryTrace::Use& use = trace_->slots[static_cast<size_t>(slot)];
    use.bytes = std::max(use.bytes, bytes);
    use.allocated = type != ElementType::kString;
  }
  return value.tensor_if();
}

bool Frame::TakeInput(const Step& step, SlotIndex slot, ElementType type, const Shape& shape) {
  if (step.def == nullptr || resources_.parallel) return false;
  const std::span<const SlotIndex> outputs = plan_.outputs_of(step);
  const std::span<const SlotIndex> inputs = plan_.inputs_of(step);
  for (const auto& [in, out] : step.def->in_place()) {
    if (in >= inputs.size() || out >= outputs.size() || outputs[out] != slot || inputs[in] == kNone) continue;
    const SlotIndex source = inputs[in];
    const Slot& info = plan_.slots[static_cast<size_t>(source)];
    // What was brought from another memory may be the caller's own buffer; what is on its way to one may not be read yet.
    if (info.source != SlotSource::kStep || plan_.steps[static_cast<size_t>(info.producer)].kind == StepKind::kCopy ||
        info.is_output || info.memory != plan_.slots[static_cast<size_t>(slot)].memory || info.hold_until >= 0 ||
        info.last_use != static_cast<int32_t>(&step - plan_.steps.data())) {
      continue;
    }
    const Tensor* tensor = values_[static_cast<size_t>(source)].tensor_if();
    if (tensor == nullptr || tensor->owner_.use_count() != 1 || tensor->type_ == ElementType::kString ||
        type == ElementType::kString || tensor->byte_size_ != ByteSize(type, shape.num_elements())) {
      continue;
    }
    // Views of what was brought are the caller's, too.
    if (given_.Find(plan_.graph_inputs, values_, *tensor) != kNone) continue;
    // Two readers of one buffer in the same step may not see it change under them.
    if (std::count(inputs.begin(), inputs.end(), source) > 1) continue;
    values_[static_cast<size_t>(slot)] = Tensor(type, shape, tensor->data_, tensor->owner_, tensor->memory_);
    return true;
  }
  return false;
}

SlotIndex Frame::HolderOf(const Step& step, const Tensor& tensor) {
  const std::span<const SlotIndex> inputs = plan_.inputs_of(step);
  if (inputs.size() <= kFewBuffers) return read_.Find(inputs, values_, tensor);  // looks at nothing else
  const std::lock_guard lock(read_mutex_);                                       // steps of a parallel run
  if (read_by_ != &step) {
    read_.Forget();
    read_by_ = &step;
  }
  return read_.Find(inputs, values_, tensor);
}

void Frame::SetOutput(const Step& step, SlotIndex slot, Value value) {
  const BufferBinding& binding = bindings_[static_cast<size_t>(slot)];
  if (Tensor* tensor = value.tensor_if(); tensor != nullptr) {
    const Slot& info = plan_.slots[static_cast<size_t>(slot)];
    CheckType(info, tensor->type_, tensor->shape_);
    if (info.element == ElementType::kUndefined) [[unlikely]]
      CheckValue(plan_, info, value);
    if (binding.caller) {
      Tensor& buffer = values_[static_cast<size_t>(slot)].tensor();
      if (tensor->raw() == buffer.raw()) return;
      CopyToResult(*tensor, buffer, plan_.slots[static_cast<size_t>(slot)].name, resources_);
      return;
    }
    const SlotIndex source = HolderOf(step, *tensor);
    if (trace_ != nullptr && source != kNone) trace_->slots[static_cast<size_t>(slot)].alias_of = source;
    if (tensor->owner_ == nullptr) {
      // A view may stay one where what it looks at is known to live as long: an input of the run, or planned memory that
      // the plan keeps for this alias.
      const bool kept = source != kNone && (memory_plan_ == nullptr || memory_plan_->IsAlias(slot, source));
      if (!kept) *tensor = CloneInMemory(*tensor, allocator_of(slot), resources_);
    }
  } else if (!value.is_none()) {
    CheckValue(plan_, plan_.slots[static_cast<size_t>(slot)], value);
    MakeOwned(value, resources_);
  }
  values_[static_cast<size_t>(slot)] = std::move(value);
}

Value Frame::Take(const Step& step, size_t input) {
  const std::span<const SlotIndex> inputs = plan_.inputs_of(step);
  Value& value = values_[static_cast<size_t>(inputs[input])];
  const Slot& info = plan_.slots[static_cast<size_t>(inputs[input])];
  const bool read_later = resources_.parallel || info.source == SlotSource::kConstant || info.is_output ||
                          info.hold_until >= 0 || info.last_use != static_cast<int32_t>(&step - plan_.steps.data());
  // Tensors stay: shared buffers and planned ones are for output() to reuse.
  if (read_later || value.is_tensor() || std::count(inputs.begin(), inputs.end(), inputs[input]) > 1) return value;
  return std::exchange(value, Value());
}

void Frame::Release(SlotIndex slot) noexcept {
  Value& value = values_[static_cast<size_t>(slot)];
  const Tensor* tensor = value.tensor_if();
  if (tensor == nullptr || tensor->owner_ != nullptr) value = Value();
}

void Frame::BindResult(SlotIndex slot, const Tensor& buffer) {
  CheckType(plan_.slots[static_cast<size_t>(slot)], buffer.type(), buffer.shape());
  BufferBinding& binding = bindings_[static_cast<size_t>(slot)];
  value(slot) = buffer;
  binding = BufferBinding{.data = const_cast<void*>(buffer.raw()), .bytes = buffer.byte_size(), .caller = true};
}

void Frame::UnbindResult(SlotIndex slot) noexcept {
  bindings_[static_cast<size_t>(slot)] = BufferBinding{};
  value(slot) = Value();
}

void Frame::UsePlan(std::shared_ptr<const ShapePlan> plan) {
  if (plan == shape_plan_) return;
  DropBuffers();
  if (plan == nullptr) return;
  const MemoryPlan& memory = plan->memory;
  for (const MemoryPlan::Block& block : memory.blocks) {
    block_memories_.push_back(block.memory);
    blocks_.push_back(resources_.memories[static_cast<size_t>(block.memory)].allocator->Allocate(block.bytes));
  }
  for (size_t slot = 0; slot < memory.slots.size(); ++slot) {
    const MemoryPlan::Placement& place = memory.slots[slot];
    if (place.block < 0) continue;
    bindings_[slot] =
        BufferBinding{.data = static_cast<std::byte*>(blocks_[static_cast<size_t>(place.block)]) + place.offset,
                      .bytes = place.bytes,
                      .in_place_of = memory.in_place_of[slot],
                      .parts = memory.parts[slot].empty() ? nullptr : &memory.parts[slot]};
  }
  shape_plan_ = std::move(plan);
  memory_plan_ = &shape_plan_->memory;
}

namespace {

/// Calls `visit` with the index and shape of each input and capture; null for what is no tensor. Stops when it says false.
template <class Visit>
bool ForEachInputShape(const Plan& plan, const std::vector<Value>& values, Visit visit) {
  size_t index = 0;
  const auto see = [&](SlotIndex slot) {
    const Tensor* tensor = slot == kNone ? nullptr : values[static_cast<size_t>(slot)].tensor_if();
    return visit(index++, tensor == nullptr ? nullptr : &tensor->shape());
  };
  for (const SlotIndex slot : plan.graph_inputs) {
    if (!see(slot)) return false;
  }
  for (const auto& [slot, position] : plan.captures) {
    if (!see(slot)) return false;
  }
  return true;
}

}  // namespace

bool Frame::PlanFits() const noexcept {
  if (shape_plan_ == nullptr) return false;
  return ForEachInputShape(plan_, values_, [&](size_t i, const Shape* shape) {
    const Shape& planned = shape_plan_->shapes[i];
    return shape == nullptr ? planned.rank() == 0 : planned == *shape;
  });
}

std::vector<Shape> Frame::InputShapes() const {
  std::vector<Shape> shapes;
  ForEachInputShape(plan_, values_, [&](size_t, const Shape* shape) {
    shapes.push_back(shape == nullptr ? Shape() : *shape);
    return true;
  });
  return shapes;
}

void Frame::DropBuffers() noexcept {
  for (size_t slot = 0; slot < bindings_.size(); ++slot) {
    if (bindings_[slot].data == nullptr || bindings_[slot].caller) continue;
    bindings_[slot] = BufferBinding{};
    values_[slot] = Value();
  }
  for (size_t i = 0; i < blocks_.size(); ++i) {
    resources_.memories[static_cast<size_t>(block_memories_[i])].allocator->Free(blocks_[i]);
  }
  blocks_.clear();
  block_memories_.clear();
  shape_plan_.reset();
  memory_plan_ = nullptr;
}

void Frame::Synchronize() {
  for (const auto& stream : streams) {
    if (stream != nullptr) stream->Synchronize();
  }
}

}  // namespace tessera
