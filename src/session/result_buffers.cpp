#include "session/result_buffers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

bool IsSameMemory(const Tensor& a, const Tensor& b) noexcept {
  return a.memory() == b.memory() || (a.memory().host_accessible && b.memory().host_accessible);
}

/// The same bytes, first to last.
bool Coincide(const Tensor& a, const Tensor& b) noexcept {
  return a.unaligned_raw() == b.unaligned_raw() && a.byte_size() == b.byte_size();
}

bool Overlap(const Tensor& a, const Tensor& b, const SessionResources& resources) noexcept {
  if (a.byte_size() == 0 || b.byte_size() == 0) return false;
  if (a.unaligned_raw() == b.unaligned_raw()) [[unlikely]]
    return IsSameMemory(a, b);
  const auto* a_begin = static_cast<const std::byte*>(a.unaligned_raw());
  const auto* b_begin = static_cast<const std::byte*>(b.unaligned_raw());
  if (a_begin + a.byte_size() <= b_begin || b_begin + b.byte_size() <= a_begin) [[likely]]
    return false;
  if (!IsSameMemory(a, b)) return false;
  // Where addresses are handles, two of them say nothing about the bytes between.
  const int16_t memory = a.memory().host_accessible ? SessionResources::kHost : resources.FindMemory(a.memory());
  return memory >= 0 && resources.memories[static_cast<size_t>(memory)].allocator->addressable();
}

/// The tensor in `value`, or in one of its parts, that overlaps the buffer.
const Tensor* FindOverlap(const Value& value, const Tensor& buffer, const SessionResources& resources) {
  const auto among = [&](const std::vector<Value>& parts) -> const Tensor* {
    for (const Value& part : parts) {
      if (const Tensor* found = FindOverlap(part, buffer, resources)) return found;
    }
    return nullptr;
  };
  const auto if_overlaps = [&](const Tensor& tensor) { return Overlap(tensor, buffer, resources) ? &tensor : nullptr; };
  switch (value.kind()) {
    case ValueKind::kTensor: return if_overlaps(*value.tensor_if());
    case ValueKind::kSequence: return among(value.sequence().elements);
    case ValueKind::kMap:
      if (const Tensor* keys = if_overlaps(value.map().keys)) return keys;
      if (value.map().scalars.defined() && if_overlaps(value.map().scalars) != nullptr) return &value.map().scalars;
      return among(value.map().values);
    case ValueKind::kSparseTensor:
      if (const Tensor* values = if_overlaps(value.sparse_tensor().values)) return values;
      return if_overlaps(value.sparse_tensor().indices);
    case ValueKind::kNone:
    case ValueKind::kOptional: break;
  }
  return nullptr;
}

/// Whether the step that writes slot `written` is the only one that reads slot `read`, and says that it may do so in place.
bool WritesInPlace(const Plan& plan, SlotIndex read, SlotIndex written) {
  const Slot& source = plan.slots[static_cast<size_t>(read)];
  const Slot& target = plan.slots[static_cast<size_t>(written)];
  if (target.producer < 0 || source.is_output || plan.readers[static_cast<size_t>(read)] != 1) return false;
  if (source.last_use != target.producer) return false;
  const Step& step = plan.steps[static_cast<size_t>(target.producer)];
  if (step.def == nullptr) return false;
  const auto inputs = plan.inputs_of(step), outputs = plan.outputs_of(step);
  const auto& pairs = step.def->in_place();
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
    return pair.first < inputs.size() && pair.second < outputs.size() && inputs[pair.first] == read &&
           outputs[pair.second] == written;
  });
}

/// Whether an input that only devices read has been copied to them before slot `written` is written.
bool IsCopiedBefore(const Plan& plan, size_t input, SlotIndex written, const SessionResources& resources) {
  const Slot& target = plan.slots[static_cast<size_t>(written)];
  if (resources.parallel || plan.host_reads_input[input] || target.producer < 0) return false;
  return std::all_of(plan.input_copies.begin(), plan.input_copies.end(), [&](const Plan::BorderCopy& copy) {
    if (copy.border != input) return true;
    const int16_t memory = plan.slots[static_cast<size_t>(copy.device)].memory;
    // A device that reads host memory in place copies all the same where kernels write to that memory, which is then their
    // view.
    return copy.step < target.producer && (resources.SharingOf(memory) == nullptr || target.memory == memory);
  });
}

/// Whether the run may write to slot `written` where an input lies, of which `tensor` is the whole or a part.
bool MayOverwrite(const Plan& plan, size_t input, const Tensor& tensor, const Tensor& buffer, SlotIndex written,
                  const SessionResources& resources) {
  const SlotIndex slot = plan.graph_inputs[input];
  if (tensor.memory().host_accessible) {
    return (Coincide(tensor, buffer) && WritesInPlace(plan, slot, written)) ||
           IsCopiedBefore(plan, input, written, resources);
  }
  const int16_t memory = resources.FindMemory(tensor.memory());
  return Coincide(tensor, buffer) &&
         std::all_of(plan.input_copies.begin(), plan.input_copies.end(), [&](const Plan::BorderCopy& copy) {
           const bool reads = copy.border == input && plan.slots[static_cast<size_t>(copy.device)].memory == memory;
           return !reads || WritesInPlace(plan, copy.device, written);
         });
}

/// The range of bytes that a tensor takes.
struct Range {
  const std::byte* begin;
  const std::byte* end;
  bool written;
};

void AddRange(const Tensor& tensor, bool written, std::vector<Range>& ranges) {
  const auto* begin = static_cast<const std::byte*>(tensor.unaligned_raw());
  if (tensor.defined() && tensor.byte_size() > 0) ranges.push_back({begin, begin + tensor.byte_size(), written});
}

void AddRanges(const Value& value, std::vector<Range>& ranges) {
  switch (value.kind()) {
    case ValueKind::kTensor: return AddRange(*value.tensor_if(), false, ranges);
    case ValueKind::kSequence:
      for (const Value& part : value.sequence().elements) AddRanges(part, ranges);
      return;
    case ValueKind::kMap:
      AddRange(value.map().keys, false, ranges);
      AddRange(value.map().scalars, false, ranges);
      for (const Value& part : value.map().values) AddRanges(part, ranges);
      return;
    case ValueKind::kSparseTensor:
      AddRange(value.sparse_tensor().values, false, ranges);
      AddRange(value.sparse_tensor().indices, false, ranges);
      return;
    case ValueKind::kNone:
    case ValueKind::kOptional: return;
  }
}

/// Whether no buffer given for a result overlaps another, or an input, by their addresses: then nothing has to be compared
/// in pairs.
bool AllLieApart(const Session::State::Request& request) {
  std::vector<Range> ranges;
  for (const Value* input : request.inputs) {
    if (input != nullptr) AddRanges(*input, ranges);
  }
  for (size_t k = 0; k < request.wanted.size(); ++k) {
    if (const Tensor* buffer = request.results[k].tensor_if(); buffer != nullptr) AddRange(*buffer, true, ranges);
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  const std::byte *read_end = nullptr, *written_end = nullptr;
  for (const Range& range : ranges) {
    if (range.begin < written_end || (range.written && range.begin < read_end)) return false;
    auto& end = range.written ? written_end : read_end;
    end = std::max(end, range.end);
  }
  return true;
}

/// Fewer pairs are looked at one by one, without memory for a list.
constexpr size_t kFewPairs = size_t{1} << 16;

}  // namespace

void CheckResultBuffers(const LoadedModel& model, const Session::State::Request& request,
                        std::span<const SlotIndex> slots) {
  const SessionResources& resources = model.resources;
  const Plan& plan = model.executor->plan();
  if (request.wanted.size() * (request.inputs.size() + request.wanted.size()) > kFewPairs && AllLieApart(request)) return;
  for (size_t k = 0; k < request.wanted.size(); ++k) {
    const Tensor* buffer = request.results[k].tensor_if();
    if (buffer == nullptr || !buffer->defined()) continue;
    const std::string_view name = model.outputs[request.wanted[k]].name;
    bool overwrites = false;  // a node that works in place on one of its inputs may not find the other changed as well
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      if (request.inputs[i] == nullptr) continue;
      const Tensor* found = FindOverlap(*request.inputs[i], *buffer, resources);
      if (found == nullptr || plan.graph_inputs[i] == kNone) [[likely]]
        continue;
      if (!std::exchange(overwrites, true) && MayOverwrite(plan, i, *found, *buffer, slots[k], resources)) continue;
      Fail(ErrorCode::kInvalidArgument,
           "the buffer given for output '{}' overlaps input '{}', which the run would overwrite while it reads; give "
           "another one, or none",
           name, model.graph_input(i).name);
    }
    for (size_t other = 0; other < k; ++other) {
      const Tensor* given = request.results[other].tensor_if();
      if (given == nullptr || !given->defined() || !Overlap(*buffer, *given, resources)) [[likely]]
        continue;
      Fail(ErrorCode::kInvalidArgument, "the buffers given for outputs '{}' and '{}' overlap; give each its own",
           model.outputs[request.wanted[other]].name, name);
    }
  }
}

}  // namespace tessera
