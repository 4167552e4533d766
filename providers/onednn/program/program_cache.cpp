#include "onednn/program/program_cache.h"

#include <algorithm>

namespace tessera::onednn {

std::shared_ptr<Program> ProgramCache::Find(std::span<const Shape* const> shapes, int team) {
  if (auto program = Held(shapes, team)) return program;
  const std::lock_guard lock(compiling_);
  if (auto program = Held(shapes, team)) return program;  // another run made it meanwhile
  std::vector<Shape> copies;
  for (const Shape* shape : shapes) copies.push_back(*shape);
  std::shared_ptr<Program> program = compile_(copies, team);
  Hold({std::move(copies), team, program});
  return program;
}

std::shared_ptr<Program> ProgramCache::Held(std::span<const Shape* const> shapes, int team) {
  const std::lock_guard lock(mutex_);
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& held) {
    return held.program->threads <= team && team <= held.largest_team &&
           std::equal(shapes.begin(), shapes.end(), held.shapes.begin(), held.shapes.end(),
                      [](const Shape* a, const Shape& b) { return *a == b; });
  });
  if (entry == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->program;
}

void ProgramCache::Hold(Entry entry) {
  const std::lock_guard lock(mutex_);
  commands_ += entry.program->commands.size();
  entries_.push_front(std::move(entry));
  while (entries_.size() > kFewestPrograms && commands_ > kMostCommands) {
    commands_ -= entries_.back().program->commands.size();
    entries_.pop_back();
  }
}

}  // namespace tessera::onednn
