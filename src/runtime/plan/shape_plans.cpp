#include "runtime/plan/shape_plans.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int kToleratedMisses = 4;

uint64_t Hash(const std::vector<Shape>& shapes) noexcept {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0xff51afd7ed558ccdu, hash ^= hash >> 32; };
  for (const Shape& shape : shapes) {
    mix(shape.rank());
    for (const int64_t dim : shape) mix(static_cast<uint64_t>(dim));
  }
  return hash;
}

}  // namespace

std::shared_ptr<const ShapePlan> ShapePlans::Find(const std::vector<Shape>& shapes) {
  const std::lock_guard lock(mutex_);
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if ((*it)->shapes != shapes) continue;
    plans_.splice(plans_.begin(), plans_, it);
    misses_in_a_row_ = 0;
    return plans_.front();
  }
  return nullptr;
}

void ShapePlans::Insert(std::shared_ptr<const ShapePlan> plan) {
  const std::lock_guard lock(mutex_);
  plans_.push_front(std::move(plan));
  if (plans_.size() > kCapacity) plans_.pop_back();
}

bool ShapePlans::WorthLearning(const std::vector<Shape>& shapes, bool nested) {
  const std::lock_guard lock(mutex_);
  if (!nested && misses_in_a_row_ < kToleratedMisses) {
    ++misses_in_a_row_;
    return true;
  }
  const uint64_t hash = Hash(shapes);
  if (std::find(seen_.begin(), seen_.end(), hash) != seen_.end()) return true;
  seen_[next_seen_++ % seen_.size()] = hash;
  return false;
}

}  // namespace tessera
