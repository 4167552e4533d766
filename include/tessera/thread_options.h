#pragma once

// How the threads within operators are made, where they run and whom they tell of their work.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace tessera {

/// Starts a thread that calls `body` once. What it returns waits for that thread's end; it is called once. Throws where no
/// thread can be had.
using ThreadStarter = std::function<std::function<void()>(std::function<void()> body)>;

/// Hears of work that a thread gives to others of its pool: once for each that may help. `enqueue` is called where the work
/// begins, and gives what the other functions get: `start` and `stop`, on the thread that helps, around what it does, or
/// `abandon`, where the work was done before anybody came. None of them throws; each may be null.
struct ThreadWorkObserver {
  void* (*enqueue)(void* context) = nullptr;
  void (*start)(void* context, void* work) = nullptr;
  void (*stop)(void* context, void* work) = nullptr;
  void (*abandon)(void* context, void* work) = nullptr;
  void* context = nullptr;

  bool observes() const noexcept { return enqueue != nullptr || start != nullptr || stop != nullptr || abandon != nullptr; }
};

/// Of the threads within operators but the callers', which are their own. Sessions with oneDNN compute on threads of
/// OpenMP's, for which none of this holds.
struct ThreadOptions {
  /// For each thread the processors that it may run on, numbered from 1: "1,2;3-4" for two threads. Empty: any.
  std::string affinities;
  /// They look for work for a moment before they sleep, for as long as this where it is given.
  bool spin = true;
  std::optional<std::chrono::microseconds> spin_duration;
  /// Also between runs, in case that another one comes soon.
  bool spin_between_runs = true;
  ThreadStarter start;  // null: the library does it
  ThreadWorkObserver observer;
};

}  // namespace tessera
