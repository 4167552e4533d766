#include "runtime/profile/implementation_notes.h"

#include <utility>

namespace tessera {
namespace {

thread_local ImplementationNotes* current_notes = nullptr;

}  // namespace

ImplementationNotes* ImplementationNotes::Current() noexcept { return current_notes; }

ImplementationNotes::Scope::Scope(ImplementationNotes* notes, const Graph& graph) noexcept
    : previous_(std::exchange(current_notes, notes)) {
  if (notes != nullptr) notes->graph_ = &graph;
}

ImplementationNotes::Scope::~Scope() { current_notes = previous_; }

}  // namespace tessera
