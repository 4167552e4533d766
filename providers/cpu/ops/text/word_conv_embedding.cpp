// WordConvEmbedding, com.microsoft, version 1: a word's vector from its characters, max(tanh(conv(embeddings) + bias)) over
// its windows. Character 0 pads. A word that begins with it is empty; its vector is zero.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/checked.h"
#include "kernels/gemm/gemm.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

class WordConvEmbedding final : public Kernel {
 public:
  explicit WordConvEmbedding(const KernelInfo& info)
      : width_(info.attribute<int64_t>("embedding_size", -1)),
        window_(info.attribute<int64_t>("conv_window_size", -1)),
        character_width_(info.attribute<int64_t>("char_embedding_size", -1)) {}

  void Compute(KernelContext& context) override {
    const Tensor& sequence = context.required_input(0);
    const Tensor& filters = context.required_input(1);
    const Tensor& bias = context.required_input(2);
    const Tensor& table = context.required_input(3);
    const Shape& s = sequence.shape();
    const Shape& f = filters.shape();
    const Shape& t = table.shape();
    Require(s.rank() == 2, "Sequence is {}; [words,characters] is expected", s);
    Require(f.rank() == 4 && f[1] == 1 && t.rank() == 2 && f[3] == t[1] && bias.shape() == Shape({f[0]}),
            "W, B and C are {}, {} and {}; [m,1,window,n], [m] and [characters,n] are expected", f, bias.shape(), t);
    Require(width_ == -1 || width_ == f[0], "embedding_size is {}, W is {}", width_, f);
    Require(window_ == -1 || window_ == f[2], "conv_window_size is {}, W is {}", window_, f);
    Require(character_width_ == -1 || character_width_ == t[1], "char_embedding_size is {}, C is {}", character_width_, t);
    Require(f[2] > 0 && f[2] <= s[1], "a window of {} characters does not fit into words of {}", f[2], s[1]);
    Tensor* y = context.output(0, {s[0], f[0]});
    if (y == nullptr || y->num_elements() == 0) return;
    const auto words = sequence.values<int32_t>();
    for (const int32_t character : words) {
      Require(character >= 0 && character < t[0], "character {} is outside the table of {}", character, t[0]);
    }
    context.threads().ParallelFor(s[0], static_cast<double>(filters.num_elements()) * static_cast<double>(s[1]) * 0.1 + 50,
                                  [&](int64_t begin, int64_t end) {
                                    Scratch scratch(context.allocator(), s[1], f);
                                    for (int64_t i = begin; i < end; ++i) {
                                      Embed(words.subspan(static_cast<size_t>(i * s[1]), static_cast<size_t>(s[1])),
                                            filters, bias, table, scratch, y->mutable_data<float>() + i * f[0]);
                                    }
                                  });
  }

 private:
  struct Scratch {
    Scratch(Allocator& memory, int64_t length, const Shape& f)
        : charge(memory, CheckedMul(CheckedAdd(CheckedMul(length, f[3]), CheckedMul(length - f[2] + 1, f[0])),
                                    int64_t{sizeof(float)})),
          characters(static_cast<size_t>(length * f[3])),
          windows(static_cast<size_t>((length - f[2] + 1) * f[0])) {}
    MemoryCharge charge;
    std::vector<float> characters, windows;
  };

  static void Embed(std::span<const int32_t> word, const Tensor& filters, const Tensor& bias, const Tensor& table,
                    Scratch& scratch, float* y) {
    const int64_t m = filters.shape()[0], window = filters.shape()[2], n = filters.shape()[3];
    const int64_t letters = word.front() > 0 ? std::ranges::count_if(word, [](int32_t c) { return c > 0; }) : 0;
    std::fill_n(y, m, letters == 0 ? 0.0f : -std::numeric_limits<float>::infinity());
    if (letters == 0) return;
    const int64_t length = std::max(letters, window);
    for (int64_t i = 0; i < length; ++i) {
      std::copy_n(table.data<float>() + word[static_cast<size_t>(i)] * n, n, scratch.characters.data() + i * n);
    }
    GemmProblem<float> gemm;
    gemm.m = length - window + 1;
    gemm.n = m;
    gemm.k = window * n;
    gemm.lhs.data = scratch.characters.data();
    gemm.lhs.row = n;  // windows overlap
    gemm.rhs = {.data = filters.data<float>(), .k = 1, .col = gemm.k};
    gemm.out = {.data = scratch.windows.data(), .row = m};
    gemm.epilogue.bias = bias.data<float>();
    GemmSerial(gemm);
    for (int64_t i = 0; i < gemm.m; ++i) {
      for (int64_t j = 0; j < m; ++j) y[j] = std::max(scratch.windows[static_cast<size_t>(i * m + j)], y[j]);
    }
    for (int64_t j = 0; j < m; ++j) y[j] = std::tanh(y[j]);  // which is monotonic: the maximum may come first
  }

  int64_t width_, window_, character_width_;
};

}  // namespace

void RegisterWordConvEmbedding(KernelRegistry& registry) {
  registry.Add(Op("WordConvEmbedding", "com.microsoft").Types(1, {ElementType::kFloat}).Make<WordConvEmbedding>());
}

}  // namespace tessera::cpu
