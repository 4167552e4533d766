#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/stagger.h"
#include "runtime/plan/buffer_arranger.h"
#include "runtime/resources.h"

namespace tessera {
namespace {

constexpr size_t kAlignment = kHostAlignment;

/// Parts of parts of parts: deeper ones are copied, so that looking through all that hold a part stays cheap.
constexpr int kDeepestPart = 32;

/// One buffer: a value, the values that live in its place after it, and all their views.
struct Item {
  int32_t first = 0;  // steps, both included
  int32_t last = 0;
  size_t bytes = 0;
  int16_t memory = 0;
  int32_t whole = -1;  // the item that this one is a part of
  size_t at = 0;       // where in `whole`
  int32_t block = -1;
  size_t offset = 0;
};

class Placer {
 public:
  Placer(const Plan& plan, const MemoryTrace& trace, const std::vector<bool>& addressable)
      : plan_(plan), trace_(trace), addressable_(addressable), item_of_(plan.slots.size(), -1) {}

  MemoryPlan Place(bool with_parts) {
    MemoryPlan result;
    result.slots.resize(plan_.slots.size());
    result.scratch.resize(plan_.steps.size());
    result.aliases.resize(plan_.slots.size(), kNone);
    result.in_place_of.resize(plan_.slots.size(), kNone);
    for (size_t slot = 0; slot < plan_.slots.size(); ++slot) result.aliases[slot] = trace_.slots[slot].alias_of;
    result.parts.resize(plan_.slots.size());
    MakeItems();
    merged_into_.assign(items_.size(), -1);
    if (with_parts) PlaceParts(result);
    MergeInPlace(result);
    const size_t num_values = items_.size();
    for (size_t step = 0; step < trace_.scratch.size(); ++step) {
      if (trace_.scratch[step] == 0) continue;
      const auto at = static_cast<int32_t>(step);
      items_.push_back({.first = at, .last = at, .bytes = trace_.scratch[step]});
    }
    Arrange(result);
    for (size_t i = 0; i < num_values; ++i) SettleInWhole(i);
    for (size_t slot = 0; slot < plan_.slots.size(); ++slot) {
      const int32_t index = ItemOf(static_cast<SlotIndex>(slot));
      if (index < 0 || trace_.slots[slot].alias_of != kNone) continue;
      const Item& item = items_[static_cast<size_t>(index)];
      result.slots[slot] = {item.block, item.offset, item.bytes};
    }
    for (size_t i = num_values; i < items_.size(); ++i) {
      result.scratch[static_cast<size_t>(items_[i].first)] = {items_[i].block, items_[i].offset, items_[i].bytes};
    }
    return result;
  }

 private:
  /// The slot whose buffer each slot shares. Views of views of views may be as many as the steps.
  std::vector<SlotIndex> Roots() const {
    std::vector<SlotIndex> roots(plan_.slots.size(), kNone);
    std::vector<size_t> path;
    for (size_t i = 0; i < roots.size(); ++i) {
      size_t at = i;
      while (roots[at] == kNone && trace_.slots[at].alias_of != kNone) {
        path.push_back(at);
        at = static_cast<size_t>(trace_.slots[at].alias_of);
      }
      if (roots[at] == kNone) roots[at] = static_cast<SlotIndex>(at);
      for (; !path.empty(); path.pop_back()) roots[path.back()] = roots[at];
    }
    return roots;
  }

  /// -1 where it is not planned, or there is no slot.
  int32_t ItemOf(SlotIndex slot) noexcept {
    if (slot == kNone) return -1;
    int32_t& item = item_of_[static_cast<size_t>(slot)];
    if (item >= 0) item = MergedInto(item);
    return item;
  }

  /// The item that an item has become part of as a whole: its output took its place. Long chains of such items are cut
  /// short on the way, so that later questions take few steps.
  int32_t MergedInto(int32_t item) noexcept {
    while (merged_into_[static_cast<size_t>(item)] >= 0) {
      int32_t& next = merged_into_[static_cast<size_t>(item)];
      if (merged_into_[static_cast<size_t>(next)] >= 0) next = merged_into_[static_cast<size_t>(next)];
      item = next;
    }
    return item;
  }

  void MakeItems() {
    const std::vector<SlotIndex> roots = Roots();
    std::vector<bool> planned(plan_.slots.size());
    for (size_t i = 0; i < planned.size(); ++i) {
      const MemoryTrace::Use& use = trace_.slots[i];
      planned[i] = plan_.slots[i].plannable && use.allocated && use.alias_of == kNone;
    }
    // A view that leaves the run needs a buffer that it can own.
    for (size_t i = 0; i < planned.size(); ++i) {
      if (trace_.slots[i].alias_of != kNone && !plan_.slots[i].plannable) {
        planned[static_cast<size_t>(roots[i])] = false;
      }
    }
    for (size_t i = 0; i < planned.size(); ++i) {
      const SlotIndex root = roots[i];
      if (!planned[static_cast<size_t>(root)]) continue;
      const Slot& slot = plan_.slots[i];
      const int32_t last = std::max({slot.last_use, slot.producer, slot.hold_until});
      int32_t& index = item_of_[static_cast<size_t>(root)];
      if (index < 0) {
        index = static_cast<int32_t>(items_.size());
        const Slot& owner = plan_.slots[static_cast<size_t>(root)];
        items_.push_back({.first = owner.producer,
                          .last = last,
                          .bytes = trace_.slots[static_cast<size_t>(root)].bytes,
                          .memory = owner.memory});
      }
      Item& item = items_[static_cast<size_t>(index)];
      item.last = std::max(item.last, last);
      item_of_[i] = index;
    }
  }

  /// Outputs that may take their input's place do so, where the input's buffer is not needed any more.
  void MergeInPlace(MemoryPlan& result) {
    for (size_t at = 0; at < plan_.steps.size(); ++at) {
      const Step& step = plan_.steps[at];
      if (step.def == nullptr) continue;
      const auto inputs = plan_.inputs_of(step);
      const auto outputs = plan_.outputs_of(step);
      for (const auto& [in, out] : step.def->in_place()) {
        if (in >= inputs.size() || out >= outputs.size()) continue;
        const int32_t from = ItemOf(inputs[in]), to = ItemOf(outputs[out]);
        if (from < 0 || to < 0 || from == to) continue;
        Item& source = items_[static_cast<size_t>(from)];
        Item& target = items_[static_cast<size_t>(to)];
        if (source.last != static_cast<int32_t>(at) || target.first != static_cast<int32_t>(at) ||
            source.bytes != target.bytes || source.memory != target.memory || source.whole >= 0 ||
            DepthOf(to) > kDeepestPart) {
          continue;
        }
        const auto readers =
            std::count_if(inputs.begin(), inputs.end(), [&](SlotIndex slot) { return ItemOf(slot) == from; });
        if (readers != 1) continue;
        source.last = target.last;
        if (target.whole >= 0) BecomePart(from, target.whole, target.at);
        target.bytes = 0;
        result.in_place_of[static_cast<size_t>(outputs[out])] = inputs[in];
        merged_into_[static_cast<size_t>(to)] = from;
      }
    }
  }

  /// Inputs of joining steps become parts of their output, the largest output first: of outputs that begin alike, the
  /// others are then parts of it as a whole.
  void PlaceParts(MemoryPlan& result) {
    std::vector<std::pair<size_t, const MemoryTrace::Join*>> joins;
    joins.reserve(trace_.joins.size());
    for (const MemoryTrace::Join& join : trace_.joins) {
      joins.emplace_back(std::accumulate(join.bytes.begin(), join.bytes.end(), size_t{0}), &join);
    }
    std::stable_sort(joins.begin(), joins.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [bytes, join] : joins) {
      const SlotIndex output = plan_.outputs_of(plan_.steps[static_cast<size_t>(join->step)])[0];
      const int32_t whole = ItemOf(output);
      if (whole < 0 || items_[static_cast<size_t>(whole)].first != join->step) continue;
      if (!addressable_[static_cast<size_t>(items_[static_cast<size_t>(whole)].memory)]) continue;
      std::vector<MemoryPlan::Part>& parts = result.parts[static_cast<size_t>(output)];
      if (LiesWithin(*join, whole)) {
        for (const size_t bytes : join->bytes) parts.push_back({bytes, true});
      } else {
        parts = TakeParts(*join, whole);
      }
    }
  }

  /// True where all inputs are parts, one after another, of another item: `whole` becomes a part of it, too.
  bool LiesWithin(const MemoryTrace::Join& join, int32_t whole) {
    const auto inputs = plan_.inputs_of(plan_.steps[static_cast<size_t>(join.step)]);
    const int32_t first = inputs.empty() ? -1 : ItemOf(inputs[0]);
    if (first < 0 || items_[static_cast<size_t>(first)].whole < 0) return false;
    const int32_t other = items_[static_cast<size_t>(first)].whole;
    const size_t begin = items_[static_cast<size_t>(first)].at;
    size_t at = begin;
    for (size_t i = 0; i < inputs.size(); at += join.bytes[i], ++i) {
      const int32_t part = ItemOf(inputs[i]);
      if (part < 0) return false;
      const Item& item = items_[static_cast<size_t>(part)];
      if (item.whole != other || item.at != at || item.bytes != join.bytes[i]) return false;
    }
    if (!MayBePart(whole, other, at - begin)) return false;
    BecomePart(whole, other, begin);
    return true;
  }

  /// Inputs become parts of `whole`: which; nothing where none does.
  std::vector<MemoryPlan::Part> TakeParts(const MemoryTrace::Join& join, int32_t whole) {
    const auto inputs = plan_.inputs_of(plan_.steps[static_cast<size_t>(join.step)]);
    std::vector<MemoryPlan::Part> parts;
    bool any = false;
    size_t at = 0;
    for (size_t i = 0; i < inputs.size(); at += join.bytes[i], ++i) {
      const int32_t part = ItemOf(inputs[i]);
      parts.push_back({join.bytes[i], part >= 0 && at % kAlignment == 0 && MayBePart(part, whole, join.bytes[i])});
      if (!parts.back().in_place) continue;
      BecomePart(part, whole, at);
      any = true;
    }
    if (!any) parts.clear();
    return parts;
  }

  /// What is a part already has its place. A part is written before the whole and neither of them again, as MergeInPlace
  /// sees to.
  bool MayBePart(int32_t part, int32_t whole, size_t bytes) const {
    const Item& item = items_[static_cast<size_t>(part)];
    if (DepthOf(whole) >= kDeepestPart) return false;
    for (int32_t at = whole; at >= 0; at = items_[static_cast<size_t>(at)].whole) {
      if (at == part) return false;
    }
    return item.whole < 0 && item.bytes == bytes && bytes > 0 && item.memory == items_[static_cast<size_t>(whole)].memory;
  }

  /// In how many others an item lies; one more than the most where these are more.
  int DepthOf(int32_t item) const noexcept {
    int depth = 0;
    for (int32_t at = items_[static_cast<size_t>(item)].whole; at >= 0 && depth <= kDeepestPart;
         at = items_[static_cast<size_t>(at)].whole)
      ++depth;
    return depth;
  }

  void BecomePart(int32_t part, int32_t whole, size_t at) {
    Item& item = items_[static_cast<size_t>(part)];
    item.whole = whole;
    item.at = at;
    for (int32_t i = whole; i >= 0; i = items_[static_cast<size_t>(i)].whole) {
      Item& around = items_[static_cast<size_t>(i)];
      around.first = std::min(around.first, item.first);
      around.last = std::max(around.last, item.last);
    }
  }

  void SettleInWhole(size_t index) {
    std::vector<size_t> path;
    for (size_t at = index; items_[at].whole >= 0 && items_[at].block < 0; at = static_cast<size_t>(items_[at].whole))
      path.push_back(at);
    for (; !path.empty(); path.pop_back()) {
      Item& item = items_[path.back()];
      const Item& whole = items_[static_cast<size_t>(item.whole)];
      item.block = whole.block;
      item.offset = whole.offset + item.at;
    }
  }

  /// Largest first, each into the smallest gap that is free for its whole life.
  void Arrange(MemoryPlan& result) {
    std::vector<size_t> order;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].bytes == 0 || items_[i].whole >= 0) continue;
      items_[i].bytes = (items_[i].bytes + kAlignment - 1) / kAlignment * kAlignment;
      if (items_[i].memory == SessionResources::kHost && items_[i].bytes >= kStaggerFrom) items_[i].bytes += kStagger;
      order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return items_[a].bytes > items_[b].bytes; });
    BufferArranger arranger(plan_.steps.size(), addressable_);
    for (const size_t i : order) {
      Item& item = items_[i];
      std::tie(item.block, item.offset) =
          arranger.Place({.first = item.first, .last = item.last, .bytes = item.bytes}, item.memory);
    }
    for (const auto& [memory, bytes] : arranger.blocks()) result.blocks.push_back({.memory = memory, .bytes = bytes});
  }

  const Plan& plan_;
  const MemoryTrace& trace_;
  const std::vector<bool>& addressable_;
  std::vector<Item> items_;
  std::vector<int32_t> item_of_;      // by slot
  std::vector<int32_t> merged_into_;  // by item, -1
};

size_t Bytes(const MemoryPlan& plan) {
  return std::accumulate(plan.blocks.begin(), plan.blocks.end(), size_t{0},
                         [](size_t sum, const MemoryPlan::Block& block) { return sum + block.bytes; });
}

}  // namespace

MemoryPlan MakeMemoryPlan(const Plan& plan, const MemoryTrace& trace, const std::vector<bool>& addressable) {
  MemoryPlan memory = Placer(plan, trace, addressable).Place(false);
  if (trace.joins.empty()) return memory;
  // An output that waits for its parts from early on may take more memory than the copies were worth.
  constexpr size_t kMostGrowth = 8;  // an eighth
  const size_t bytes = Bytes(memory);
  MemoryPlan with_parts = Placer(plan, trace, addressable).Place(true);
  return Bytes(with_parts) <= bytes + bytes / kMostGrowth ? std::move(with_parts) : std::move(memory);
}

}  // namespace tessera
