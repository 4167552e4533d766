#include "runtime/plan/buffer_arranger.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tessera {
namespace {

/// So many placed buffers are looked at one by one.
constexpr size_t kFewPlaced = 1024;
/// What is looked at for each buffer once the effort is spent: buffers that live at the same time, blocks.
constexpr size_t kLeastEffort = 64;

}  // namespace

template <class Visit>
void PlacedBuffers::VisitCover(const BufferLife& life, const Visit& visit) const {
  size_t low = leaves_ + static_cast<size_t>(life.first), high = leaves_ + static_cast<size_t>(life.last) + 1;
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) visit(low++);
    if (high % 2 == 1) visit(--high);
  }
}

void PlacedBuffers::Add(const BufferLife& life, size_t offset) {
  const auto index = static_cast<int32_t>(placed_.size());
  placed_.push_back({life, offset});
  if (placed_.size() <= kFewPlaced) {
    const auto at = std::upper_bound(by_offset_.begin(), by_offset_.end(), offset, [&](size_t wanted, int32_t other) {
      return wanted < placed_[static_cast<size_t>(other)].offset;
    });
    by_offset_.insert(at, index);
  } else if (has_tree()) {
    AddToTree(index);
  } else {
    MakeTree();
  }
}

void PlacedBuffers::MakeTree() {
  leaves_ = std::bit_ceil(num_steps_ + 1);
  covering_.resize(2 * leaves_);
  end_.resize(2 * leaves_);
  end_of_covering_.resize(2 * leaves_);
  for (size_t i = 0; i < placed_.size(); ++i) AddToTree(static_cast<int32_t>(i));
  by_offset_ = {};
}

void PlacedBuffers::AddToTree(int32_t index) {
  const Placed& added = placed_[static_cast<size_t>(index)];
  by_first_.emplace(added.life.first, index);
  const size_t end = added.offset + added.life.bytes;
  VisitCover(added.life, [&](size_t node) {
    covering_[node].push_back(index);
    end_of_covering_[node] = std::max(end_of_covering_[node], end);
    for (size_t at = node; at > 0; at /= 2) end_[at] = std::max(end_[at], end);
  });
}

void PlacedBuffers::FindMeeting(const BufferLife& life, size_t most, std::vector<const Placed*>& found) const {
  found.clear();
  if (!has_tree()) {
    for (const int32_t index : by_offset_) {
      const Placed& other = placed_[static_cast<size_t>(index)];
      if (life.Meets(other.life)) found.push_back(&other);
    }
    return;
  }
  // Those that live at its first step, then those that begin later.
  for (size_t node = leaves_ + static_cast<size_t>(life.first); node > 0; node /= 2) {
    for (const int32_t index : covering_[node]) {
      found.push_back(&placed_[static_cast<size_t>(index)]);
      if (found.size() > most) return;
    }
  }
  for (auto at = by_first_.upper_bound(life.first); at != by_first_.end() && at->first <= life.last; ++at) {
    found.push_back(&placed_[static_cast<size_t>(at->second)]);
    if (found.size() > most) return;
  }
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
}

size_t PlacedBuffers::EndOf(const BufferLife& life) const noexcept {
  size_t end = 0;
  if (!has_tree()) {
    for (const Placed& other : placed_) {
      if (life.Meets(other.life)) end = std::max(end, other.offset + other.life.bytes);
    }
    return end;
  }
  VisitCover(life, [&](size_t node) {
    end = std::max(end, end_[node]);
    for (size_t around = node / 2; around > 0; around /= 2) end = std::max(end, end_of_covering_[around]);
  });
  return end;
}

std::pair<int32_t, size_t> BufferArranger::Place(const BufferLife& life, int16_t memory) {
  if (!addressable_[static_cast<size_t>(memory)]) return {PlaceWhole(life, memory), 0};
  auto shared = shared_.find(memory);
  if (shared == shared_.end()) {
    shared = shared_.emplace(memory, std::pair(AddBlock(memory, life.bytes), PlacedBuffers(num_steps_))).first;
  }
  auto& [block, placed] = shared->second;
  const size_t offset = PlaceAtOffset(life, placed);
  placed.Add(life, offset);
  size_t& bytes = blocks_[static_cast<size_t>(block)].bytes;
  bytes = std::max(bytes, offset + life.bytes);
  return {block, offset};
}

size_t BufferArranger::PlaceAtOffset(const BufferLife& life, PlacedBuffers& placed) {
  const size_t most = std::max(effort_, kLeastEffort);
  placed.FindMeeting(life, most, meeting_);
  effort_ -= std::min(effort_, meeting_.size());
  if (meeting_.size() > most) return placed.EndOf(life);
  size_t end = 0;  // of what lives at the same time, so far
  size_t offset = 0, best = std::numeric_limits<size_t>::max();
  for (const PlacedBuffers::Placed* other : meeting_) {
    if (other->offset > end && other->offset - end >= life.bytes && other->offset - end < best) {
      best = other->offset - end;
      offset = end;
    }
    end = std::max(end, other->offset + other->life.bytes);
  }
  return best == std::numeric_limits<size_t>::max() ? end : offset;
}

int32_t BufferArranger::PlaceWhole(const BufferLife& life, int16_t memory) {
  auto& blocks = exclusive_[memory];
  size_t tries = 0;
  for (auto& [block, lives] : blocks) {
    if (++tries > kLeastEffort && effort_ == 0) break;
    effort_ -= effort_ > 0 ? 1 : 0;
    const auto next = lives.upper_bound(life.last);  // begins after it; the one before must end before it
    if (next != lives.begin() && std::prev(next)->second >= life.first) continue;
    lives.emplace(life.first, life.last);
    return block;
  }
  blocks.emplace_back(AddBlock(memory, life.bytes), Lives{{life.first, life.last}});
  return blocks.back().first;
}

int32_t BufferArranger::AddBlock(int16_t memory, size_t bytes) {
  blocks_.push_back({memory, bytes});
  return static_cast<int32_t>(blocks_.size()) - 1;
}

}  // namespace tessera
