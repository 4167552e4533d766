#pragma once

// Finds places for buffers whose lives are known, so that those which live at the same time lie apart.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tessera {

/// A buffer and the steps that it lives in, both included.
struct BufferLife {
  int32_t first = 0;
  int32_t last = 0;
  size_t bytes = 0;

  bool Meets(const BufferLife& other) const noexcept { return first <= other.last && other.first <= last; }
};

/// Buffers with their offsets, found by the steps that they live in: of few, each is looked at; of many, in time that grows
/// with the number found, whatever the number held.
class PlacedBuffers {
 public:
  struct Placed {
    BufferLife life;
    size_t offset = 0;
  };

  explicit PlacedBuffers(size_t num_steps) : num_steps_(num_steps) {}

  void Add(const BufferLife& life, size_t offset);
  /// All that live at some time in `life`, by offset, into `found`; stops after more than `most`, in any order.
  void FindMeeting(const BufferLife& life, size_t most, std::vector<const Placed*>& found) const;
  /// Where the last of those that live in `life` ends.
  size_t EndOf(const BufferLife& life) const noexcept;

 private:
  // A tree over steps: node 1 is all of them, nodes 2i and 2i+1 are the halves of node i.
  template <class Visit>
  void VisitCover(const BufferLife& life, const Visit& visit) const;
  bool has_tree() const noexcept { return !covering_.empty(); }
  void MakeTree();
  void AddToTree(int32_t index);

  size_t num_steps_;
  size_t leaves_ = 1;
  std::vector<Placed> placed_;
  std::vector<int32_t> by_offset_;  // while there is no tree
  std::vector<std::vector<int32_t>>
      covering_;                              // by node: buffers that live in all its steps, and not in all of its parent's
  std::vector<size_t> end_;                   // by node: of the buffers that live in some of its steps
  std::vector<size_t> end_of_covering_;       // by node: of the buffers that live in all of them
  std::multimap<int32_t, int32_t> by_first_;  // buffers by their first step
};

/// Places buffers one after another; the order is the caller's (largest first packs well).
class BufferArranger {
 public:
  struct Block {
    int16_t memory = 0;
    size_t bytes = 0;
  };

  /// `addressable`: by memory, whether a buffer may begin inside a block.
  BufferArranger(size_t num_steps, const std::vector<bool>& addressable)
      : num_steps_(num_steps),
        addressable_(addressable),
        effort_(std::clamp(kEffortOfStep * num_steps, kLeastOfAll, kMostOfAll)) {}

  /// Block and offset: the smallest gap that is free for the buffer's whole life. Plans of tens of thousands of buffers
  /// that all live at the same time are finished in less perfect ways.
  std::pair<int32_t, size_t> Place(const BufferLife& life, int16_t memory);

  const std::vector<Block>& blocks() const noexcept { return blocks_; }

 private:
  using Lives = std::map<int32_t, int32_t>;  // last step by first; they do not meet

  size_t PlaceAtOffset(const BufferLife& life, PlacedBuffers& placed);
  int32_t PlaceWhole(const BufferLife& life, int16_t memory);
  int32_t AddBlock(int16_t memory, size_t bytes);

  const size_t num_steps_;
  const std::vector<bool>& addressable_;
  std::vector<Block> blocks_;
  std::map<int16_t, std::pair<int32_t, PlacedBuffers>> shared_;  // of addressable memories: the block and what is in it
  std::map<int16_t, std::vector<std::pair<int32_t, Lives>>> exclusive_;  // of others: blocks and when they are taken
  std::vector<const PlacedBuffers::Placed*> meeting_;
  static constexpr size_t kEffortOfStep = 512, kLeastOfAll = size_t{1} << 19, kMostOfAll = size_t{1} << 22;
  /// Buffers that may still be looked at because they live at the same time as one to be placed.
  size_t effort_;
};

}  // namespace tessera
