// TfIdfVectorizer (9): counts n-grams of a pool in each row, skipping up to max_skip_count items between their elements.

#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/seeded_hash.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

struct ItemHash {
  size_t operator()(const std::string& item) const noexcept { return static_cast<size_t>(SeededHash(item)); }
  size_t operator()(int64_t item) const noexcept { return static_cast<size_t>(SeededHash(static_cast<uint64_t>(item), 0)); }
};

/// A trie over n-grams: what follows an item, and which n-gram ends there. It is as deep as the longest n-gram: nodes that
/// owned what follows them would be destroyed as deep.
template <class Item>
struct Trie {
  struct Node {
    std::unordered_map<Item, Node*, ItemHash> next;
    int64_t ngram = -1;
  };
  std::deque<Node> nodes = std::deque<Node>(1);  // the root first
};

enum class Weighting { kTf, kIdf, kTfIdf };

Weighting ParseMode(const std::string& mode) {
  if (mode == "TF") return Weighting::kTf;
  if (mode == "IDF") return Weighting::kIdf;
  Require(mode == "TFIDF", "mode is '{}', expected TF, IDF or TFIDF", mode);
  return Weighting::kTfIdf;
}

class TfIdfVectorizer final : public Kernel {
 public:
  explicit TfIdfVectorizer(const KernelInfo& info)
      : mode_(ParseMode(info.attribute<std::string>("mode"))),
        shortest_(info.attribute<int64_t>("min_gram_length")),
        longest_(info.attribute<int64_t>("max_gram_length")),
        skips_(info.attribute<int64_t>("max_skip_count")),
        columns_(info.attribute<std::vector<int64_t>>("ngram_indexes")),
        charge_(info.allocator()) {
    const auto weights = info.attribute<std::vector<float>>("weights", {});
    Require(shortest_ > 0 && longest_ >= shortest_ && skips_ >= 0, "lengths from {} to {} with {} skips make no n-grams",
            shortest_, longest_, skips_);
    for (int64_t column : columns_) {
      Require(column >= 0 && column < kMostColumns, "n-gram index {} is outside [0, {})", column, kMostColumns);
      width_ = std::max(width_, column + 1);
    }
    Require(weights.empty() || weights.size() >= columns_.size(), "{} weights for {} n-grams", weights.size(),
            columns_.size());
    const auto counts = info.attribute<std::vector<int64_t>>("ngram_counts");
    if (info.has_attribute("pool_strings")) {
      Fill(info.attribute<std::vector<std::string>>("pool_strings"), counts, strings_);
    } else {
      Fill(info.attribute<std::vector<int64_t>>("pool_int64s"), counts, ints_);
    }
    SetWeights(weights);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() == 1 || shape.rank() == 2, "the input is {}; [C] or [N,C] is expected", shape);
    const int64_t rows = shape.rank() == 1 ? 1 : shape[0], length = shape.back();
    Tensor& y = *context.output(0, shape.rank() == 1 ? Shape{width_} : Shape{rows, width_});
    float* out = y.mutable_data<float>();
    InCancellablePieces(0, y.num_elements(), 0.5,
                        [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, 0.0f); });
    if (x.num_elements() == 0) return;
    constexpr double kCostNs = 50;
    context.threads().ParallelFor(rows, kCostNs * static_cast<double>(length * Distances(length)),
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t row = begin; row < end; ++row) {
                                      float* counts = out + row * width_;
                                      if (x.is(ElementType::kString)) {
                                        Count(x.data<std::string>() + row * length, length, strings_, counts);
                                      } else if (x.is(ElementType::kInt32)) {
                                        Count(x.data<int32_t>() + row * length, length, ints_, counts);
                                      } else {
                                        Count(x.data<int64_t>() + row * length, length, ints_, counts);
                                      }
                                      CancellationPoint();
                                      Weigh(counts);
                                    }
                                  });
  }

 private:
  static constexpr int64_t kMostColumns = int64_t{1} << 26;
  static constexpr size_t kHeapBlocks = 96;  // of a node and its place in its parent

  struct ColumnWeight {
    int64_t column;
    float weight;
  };

  /// Of the columns that n-grams count in, each once: the last of several weights holds. All other columns stay 0.
  void SetWeights(std::span<const float> weights) {
    charge_.Add(columns_.size() * sizeof(ColumnWeight));
    for (size_t i = columns_.size(); i-- > 0;) weights_.push_back({columns_[i], weights.empty() ? 1.0f : weights[i]});
    std::ranges::stable_sort(weights_, {}, &ColumnWeight::column);
    const auto rest = std::ranges::unique(weights_, {}, &ColumnWeight::column);
    weights_.erase(rest.begin(), rest.end());
  }

  template <class Item>
  void Fill(const std::vector<Item>& pool, const std::vector<int64_t>& counts, Trie<Item>& trie) {
    int64_t ngram = 0;
    const auto total = static_cast<int64_t>(pool.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      const auto size = static_cast<int64_t>(i) + 1;
      const int64_t begin = counts[i], end = i + 1 < counts.size() ? counts[i + 1] : total;
      Require(begin >= 0 && begin <= end && end <= total, "ngram_counts {} to {} do not divide a pool of {}", begin, end,
              total);
      Require((end - begin) % size == 0, "{} pool items are not whole {}-grams", end - begin, size);
      for (int64_t at = begin; at < end; at += size, ++ngram) {
        CountWork(static_cast<double>(size) * 200);
        Require(ngram < static_cast<int64_t>(columns_.size()), "the pool has more n-grams than ngram_indexes, {}",
                columns_.size());
        if (size < shortest_ || size > longest_) continue;
        auto* node = &trie.nodes.front();
        for (int64_t j = 0; j < size; ++j) {
          auto& next = node->next[pool[static_cast<size_t>(at + j)]];
          if (next == nullptr) {
            charge_.Add(sizeof(typename Trie<Item>::Node) + sizeof(Item) + kHeapBlocks);
            next = &trie.nodes.emplace_back();
          }
          node = next;
        }
        node->ngram = ngram;
      }
    }
  }

  /// Items further apart than the row is long do not meet.
  int64_t Distances(int64_t length) const { return std::min(skips_, std::max<int64_t>(length - 1, 0)) + 1; }

  template <class Source, class Item>
  void Count(const Source* row, int64_t length, const Trie<Item>& trie, float* counts) const {
    PacedCancellationPoint look(20);
    for (int64_t distance = 1; distance <= Distances(length); ++distance) {
      for (int64_t start = 0; start < length; ++start) {
        const auto* node = &trie.nodes.front();
        for (int64_t n = 1, at = start; n <= longest_ && at < length; ++n, at += distance) {
          look.Pass();
          const auto next = node->next.find(row[at]);
          if (next == node->next.end()) break;
          node = next->second;
          // A single item skips nothing: it counts once, at distance 1.
          if (node->ngram >= 0 && n >= shortest_ && (n > 1 || distance == 1))
            ++counts[columns_[static_cast<size_t>(node->ngram)]];
        }
      }
    }
  }

  void Weigh(float* counts) const {
    if (mode_ == Weighting::kTf) return;
    for (const ColumnWeight& of : weights_) {
      float& count = counts[of.column];
      count = (mode_ == Weighting::kIdf ? (count > 0 ? 1.0f : 0.0f) : count) * of.weight;
    }
  }

  Weighting mode_;
  int64_t shortest_, longest_, skips_;
  std::vector<int64_t> columns_;
  std::vector<ColumnWeight> weights_;  // by column
  int64_t width_ = 0;
  MemoryCharge charge_;  // of n-grams and weights
  Trie<std::string> strings_;
  Trie<int64_t> ints_;
};

}  // namespace

void RegisterTfIdfVectorizer(KernelRegistry& registry) {
  registry.Add(Op("TfIdfVectorizer")
                   .Versions(9)
                   .Types(0, {ElementType::kString, ElementType::kInt32, ElementType::kInt64})
                   .Make<TfIdfVectorizer>());
}

}  // namespace tessera::cpu
