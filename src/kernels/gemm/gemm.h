#pragma once

// Matrix multiplication: the one engine behind MatMul, Gemm, Conv, Einsum, Attention and the recurrent operators.
//
// C[m,n] = epilogue(alpha * A[m,k] * B[k,n] (+ C)). B is read in panels of GemmPanelWidth() columns, packed once
// when it is constant (PackGemmB) or on the way through the caches otherwise. A is read in place.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/epilogue.h"
#include "tessera/numeric.h"
#include "tessera/provider/function_ref.h"
#include "tessera/provider/thread_pool.h"

namespace tessera::cpu {

/// What the products are made of that are added up in accumulators of type T.
template <class T>
using GemmElement = std::conditional_t<std::is_same_v<T, int32_t>, int16_t, T>;

/// Makes panels of B on the fly (convolution's implicit matrix).
template <class E>
class GemmPanelSource {
 public:
  /// Writes rows [k0, k0 + kc) of columns [n0, n0 + width) to `out`, row after row, each a panel wide; columns past `width`
  /// are written too, with anything finite. Of int16, pairs of rows, and k0 is even.
  virtual void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, E* out) const = 0;

 protected:
  ~GemmPanelSource() = default;
};

/// What panels of a packed B hold.
enum class PanelType : uint8_t {
  kWhole,  // elements
  // Of floats:
  kFloat16,   // which become floats on their way into registers
  kBFloat16,  // the same
  kPairs,     // pairs of bfloat16, which are multiplied as they are (kernels/gemm/gemm_bf16.h)
  // Of int32:
  kInt8,  // which become int16 on their way into registers
};

/// m rows of k elements.
template <class T>
struct GemmLhs {
  const GemmElement<T>* data = nullptr;
  int64_t row = 0;                  // stride between rows; one of the two strides is usually 1
  int64_t k = 1;                    // of int32, 1: rows are of whole pairs (WidenRows)
  const BFloat16* pairs = nullptr;  // in place of `data` where B is kPairs, rows of whole pairs (RoundToPairs)
};

/// k rows of n elements: the first of `packed`, `source` and `data` that is set.
template <class T>
struct GemmRhs {
  const void* packed = nullptr;
  PanelType type = PanelType::kWhole;
  int64_t packed_k = 0;  // rows of the whole packed matrix, when this GEMM reads some of them; 0: k
  const GemmPanelSource<GemmElement<T>>* source = nullptr;
  const GemmElement<T>* data = nullptr;  // none of int32
  int64_t k = 0;                         // stride between rows
  int64_t col = 1;
};

template <class T>
struct GemmOut {
  T* data = nullptr;
  int64_t row = 0;
  int64_t col = 1;  // other than 1: `row` must be 1 and B packed; neither `accumulate` nor a residual
};

/// T, the type of accumulators and results: float, double; int32_t, which has neither alpha nor an epilogue.
template <class T>
struct GemmProblem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  GemmLhs<T> lhs;
  GemmRhs<T> rhs;
  GemmOut<T> out;
  T alpha = 1;
  bool accumulate = false;  // add to what C holds
  Epilogue<T> epilogue;
};

/// Elements of a packed B: whole panels.
template <class T>
size_t PackedGemmBSize(int64_t k, int64_t n);
template <class T>
int64_t GemmPanelWidth();
/// One panel: `width` columns of B, on the calling thread. Packing reads B at any address.
template <class T>
void PackGemmPanel(const T* b, int64_t b_k, int64_t b_col, int64_t k, int64_t width, T* packed);
template <class T>
void PackGemmB(ThreadPool& threads, int64_t k, int64_t n, const T* b, int64_t b_k, int64_t b_col, T* packed);

/// Whether panels of the type can be multiplied here.
bool HasGemmPanels(PanelType type);
/// `rows` rows of a packed panel of floats, as panels of the type have them: half as many bytes. `type` is one of 16 bits.
void NarrowGemmPanel(PanelType type, const float* panel, int64_t rows, uint16_t* out);

/// Elements of scratch that Gemm wants for these arguments; with none given it still works, slower where rows are few,
/// unless it has to round A (B is kPairs, A is not).
template <class T>
size_t GemmWorkspaceSize(const GemmProblem<T>& args, int threads);

template <class T>
void Gemm(ThreadPool& threads, const GemmProblem<T>& args, T* workspace = nullptr);
template <>
void Gemm<int32_t>(ThreadPool&, const GemmProblem<int32_t>&, int32_t*);  // gemm_int8.cpp

/// On the calling thread.
template <class T>
void GemmSerial(const GemmProblem<T>& args);

/// A batch: `count` independent GEMMs of the same m, n and k; `problem(i)` describes the i-th.
template <class T>
void GemmBatch(ThreadPool& threads, int64_t count, const GemmProblem<T>& shape,
               FunctionRef<GemmProblem<T>(int64_t)> problem);

extern template size_t PackedGemmBSize<float>(int64_t, int64_t);
extern template size_t PackedGemmBSize<double>(int64_t, int64_t);
extern template void PackGemmPanel<float>(const float*, int64_t, int64_t, int64_t, int64_t, float*);
extern template void PackGemmPanel<double>(const double*, int64_t, int64_t, int64_t, int64_t, double*);
extern template int64_t GemmPanelWidth<float>();
extern template int64_t GemmPanelWidth<double>();
extern template void PackGemmB<float>(ThreadPool&, int64_t, int64_t, const float*, int64_t, int64_t, float*);
extern template void PackGemmB<double>(ThreadPool&, int64_t, int64_t, const double*, int64_t, int64_t, double*);
extern template size_t GemmWorkspaceSize<float>(const GemmProblem<float>&, int);
extern template size_t GemmWorkspaceSize<double>(const GemmProblem<double>&, int);
extern template void Gemm<float>(ThreadPool&, const GemmProblem<float>&, float*);
extern template void Gemm<double>(ThreadPool&, const GemmProblem<double>&, double*);
extern template void GemmSerial<float>(const GemmProblem<float>&);
extern template void GemmSerial<double>(const GemmProblem<double>&);
extern template void GemmBatch<float>(ThreadPool&, int64_t, const GemmProblem<float>&,
                                      FunctionRef<GemmProblem<float>(int64_t)>);
extern template void GemmBatch<double>(ThreadPool&, int64_t, const GemmProblem<double>&,
                                       FunctionRef<GemmProblem<double>(int64_t)>);

}  // namespace tessera::cpu
