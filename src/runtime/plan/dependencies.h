#pragma once

// What follows from the steps of a plan: how long its values live, and which steps wait for which.

#include <span>

#include "runtime/plan/plan.h"

namespace tessera {

/// Finds each slot's last use, what each step frees, and what a frame's block may hold: nothing of `escaping`, which
/// results of the run may refer to.
void FindLifetimes(Plan& plan, std::span<const SlotIndex> escaping);

/// Finds the successors of each step, the readers of each slot, and which copies of inputs a run may skip.
void FindDependencies(Plan& plan);

}  // namespace tessera
