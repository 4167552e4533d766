#pragma once

// The programs of one region: one for each set of input shapes and size of the team, as they come.

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "onednn/program/program.h"

namespace tessera::onednn {

class ProgramCache {
 public:
  /// Compiles for a team of at most so many threads; Program::threads says for how many it did.
  using Compile = std::function<std::shared_ptr<Program>(const std::vector<Shape>& shapes, int team)>;

  explicit ProgramCache(Compile compile) : compile_(std::move(compile)) {}

  /// The program for these shapes and a team of this size, compiled when there is none. From any thread; while one
  /// compiles, others run what is there.
  std::shared_ptr<Program> Find(std::span<const Shape* const> shapes, int team);

  /// Programs held, of which the least recently used go: a few whatever they are, more as long as their primitives are not
  /// too many. One takes some ten kilobytes.
  static constexpr size_t kFewestPrograms = 16, kMostCommands = 4096;

 private:
  struct Entry {
    std::vector<Shape> shapes;
    int largest_team;  // it serves from as many threads as it was made for to so many
    std::shared_ptr<Program> program;
  };

  std::shared_ptr<Program> Held(std::span<const Shape* const> shapes, int team);
  void Hold(Entry entry);

  const Compile compile_;
  std::mutex compiling_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  size_t commands_ = 0;
};

}  // namespace tessera::onednn
