#pragma once

// Sorting with cancellation points: as the standard algorithms, whose comparison looks from time to time where there is
// much to sort. A comparison may throw: elements are then in no particular order, some twice.

#include <algorithm>
#include <iterator>

#include "base/cancellation.h"

namespace tessera {

/// `compare`, with a cancellation point every now and then.
template <class Compare>
class CancellableCompare {
 public:
  CancellableCompare(Compare compare, PacedCancellationPoint& look) : compare_(compare), look_(&look) {}
  template <class A, class B>
  bool operator()(const A& a, const B& b) {
    look_->Pass();
    return compare_(a, b);
  }

 private:
  Compare compare_;
  PacedCancellationPoint* look_;
};

/// Fewer elements are sorted well within the time between cancellation points.
inline constexpr std::ptrdiff_t kSortedWhole = std::ptrdiff_t{1} << 14;

/// Calls algorithm(compare) with a comparison that looks where `count` elements are many.
template <class Compare, class Algorithm>
void WithCancellableCompare(std::ptrdiff_t count, Compare compare, Algorithm&& algorithm) {
  constexpr double kCompareNs = 10;
  if (count <= kSortedWhole) {
    constexpr double kDepth = 8;  // of what is sorted whole, on average
    CountWork(static_cast<double>(count) * kDepth * kCompareNs);
    return algorithm(compare);
  }
  PacedCancellationPoint look(kCompareNs);
  algorithm(CancellableCompare<Compare>(compare, look));
}

template <class Iterator, class Compare = std::less<>>
void SortCancellably(Iterator first, Iterator last, Compare compare = {}) {
  WithCancellableCompare(last - first, compare, [&](auto order) { std::sort(first, last, order); });
}
template <class Iterator, class Compare = std::less<>>
void StableSortCancellably(Iterator first, Iterator last, Compare compare = {}) {
  WithCancellableCompare(last - first, compare, [&](auto order) { std::stable_sort(first, last, order); });
}
template <class Iterator, class Compare = std::less<>>
void NthElementCancellably(Iterator first, Iterator nth, Iterator last, Compare compare = {}) {
  WithCancellableCompare(last - first, compare, [&](auto order) { std::nth_element(first, nth, last, order); });
}
template <class Iterator, class Compare = std::less<>>
void PartialSortCancellably(Iterator first, Iterator middle, Iterator last, Compare compare = {}) {
  WithCancellableCompare(last - first, compare, [&](auto order) { std::partial_sort(first, middle, last, order); });
}

}  // namespace tessera
