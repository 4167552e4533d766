#pragma once

// Eight tiles of up to 16 rows of 64 bytes, and products of two of them that are added to a third (AMX, Intel's
// Architecture Instruction Set Extensions, chapter 3): tiles 0 to 3 hold sums, two rows of two; 4 and 5 the left operands
// of the rows; 6 and 7 the right ones of the columns. A left tile has `rows` rows of `groups` groups of four bytes, a right
// one `groups` records of four bytes for each of 16 columns.

#include <cstdint>
#include <cstring>

#include "base/cpu_features.h"
#include "base/work_array.h"

namespace tessera::cpu {

constexpr int64_t kTileRows = 16, kTileGroups = 16, kTileColumns = 16, kTileBytes = 1024;

/// The processor's. By assembler, as the kernels are compiled for instruction sets that lack it. Tiles belong to the
/// thread: one unit at a time.
class TileUnit {
 public:
  static bool Available() { return HasAmxInt8(); }

  TileUnit(int64_t rows, int64_t groups) : rows_(rows) {
#if defined(__x86_64__)
    constexpr int kColumnBytes = 64;
    struct alignas(64) {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } config;
    static_assert(sizeof(config) == 64);
    for (int i = 0; i < 8; ++i) {
      config.row_bytes[i] = static_cast<uint16_t>(i == 4 || i == 5 ? 4 * groups : kColumnBytes);
      config.rows[i] = static_cast<uint8_t>(i < 6 ? rows : groups);
    }
    asm volatile("ldtilecfg %0" ::"m"(config) : "memory");
#else
    (void)groups;
#endif
  }
  ~TileUnit() {
#if defined(__x86_64__)
    asm volatile("tilerelease" ::: "memory");
#endif
  }
  TileUnit(const TileUnit&) = delete;
  TileUnit& operator=(const TileUnit&) = delete;

  int64_t rows() const { return rows_; }

#if defined(__x86_64__)
  template <int kTile>
  void Zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  template <int kTile>
  void Load(const void* from, int64_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(kTile) : "memory");
  }
  template <int kTile>
  void Store(void* to, int64_t row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(kTile) : "memory");
  }
  /// Adds the products of unsigned with signed bytes.
  template <int kAccumulators, int kLeft, int kRight, bool kLeftIsUnsigned>
  void Multiply() {
    if constexpr (kLeftIsUnsigned) {
      asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kAccumulators), "i"(kLeft), "i"(kRight));
    } else {
      asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kAccumulators), "i"(kLeft), "i"(kRight));
    }
  }
#else
  template <int kTile>
  void Zero() {}
  template <int kTile>
  void Load(const void*, int64_t) {}
  template <int kTile>
  void Store(void*, int64_t) {}
  template <int kAccumulators, int kLeft, int kRight, bool kLeftIsUnsigned>
  void Multiply() {}
#endif

 private:
  int64_t rows_;
};

/// The same in loops, so that what is built upon it can be tested anywhere.
class EmulatedTileUnit {
 public:
  static bool Available() { return true; }

  EmulatedTileUnit(int64_t rows, int64_t groups) : rows_(rows), groups_(groups) {}

  int64_t rows() const { return rows_; }

  template <int kTile>
  void Zero() {
    std::memset(tiles_[kTile], 0, kTileBytes);
  }
  template <int kTile>
  void Load(const void* from, int64_t row_bytes) {
    for (int64_t r = 0; r < RowsOf(kTile); ++r)
      std::memcpy(tiles_[kTile][r], static_cast<const uint8_t*>(from) + r * row_bytes, BytesOf(kTile));
  }
  template <int kTile>
  void Store(void* to, int64_t row_bytes) {
    for (int64_t r = 0; r < RowsOf(kTile); ++r)
      std::memcpy(static_cast<uint8_t*>(to) + r * row_bytes, tiles_[kTile][r], BytesOf(kTile));
  }
  template <int kAccumulators, int kLeft, int kRight, bool kLeftIsUnsigned>
  void Multiply() {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < kTileColumns; ++c) {
        uint32_t sum;  // it wraps
        std::memcpy(&sum, tiles_[kAccumulators][r] + 4 * c, sizeof(sum));
        for (int64_t i = 0; i < 4 * groups_; ++i) {
          const uint8_t left = tiles_[kLeft][r][i], right = tiles_[kRight][i / 4][4 * c + i % 4];
          sum += static_cast<uint32_t>(kLeftIsUnsigned ? left * static_cast<int8_t>(right)
                                                       : static_cast<int8_t>(left) * right);
        }
        std::memcpy(tiles_[kAccumulators][r] + 4 * c, &sum, sizeof(sum));
      }
    }
  }

 private:
  static constexpr bool IsLeft(int tile) { return tile == 4 || tile == 5; }
  int64_t RowsOf(int tile) const { return tile < 6 ? rows_ : groups_; }
  size_t BytesOf(int tile) const { return static_cast<size_t>(IsLeft(tile) ? 4 * groups_ : 64); }

  using Tile = uint8_t[16][64];

  int64_t rows_, groups_;
  const WorkArray<Tile> tiles_{8};
};

}  // namespace tessera::cpu
