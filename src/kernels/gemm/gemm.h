#pragma once

// Matrix multiplication: the one engine behind MatMul, Gemm, Conv, Einsum, Attention and the recurrent operators.
//
// C[m,n] = epilogue(alpha * A[m,k] * B[k,n] (+ C)). B is read in panels of GemmPanelWidth() columns, packed once
// when it is constant (PackGemmB) or on the way through the caches otherwise. A is read in place.

#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"
#include "tessera/provider/function_ref.h"
#include "tessera/provider/thread_pool.h"
#include "tessera/value.h"

namespace tessera::cpu {

/// Makes panels of B on the fly (convolution's implicit matrix).
template <class T>
class GemmPanelSource {
 public:
  /// Writes rows [k0, k0 + kc) of columns [n0, n0 + width) to `out`, row after row, each GemmPanelWidth() long; columns
  /// past `width` are written too, with anything finite.
  virtual void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, T* out) const = 0;

 protected:
  ~GemmPanelSource() = default;
};

/// What panels of a packed B of floats hold. Those of 16 bits become floats on their way into registers, but pairs of
/// bfloat16 are multiplied as they are, by GemmBf16 (kernels/gemm/gemm_bf16.h) only.
enum class PanelType : uint8_t { kWhole, kFloat16, kBFloat16, kPairs };

template <class T>
struct GemmArgs {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const T* a = nullptr;
  int64_t a_row = 0;  // stride between rows; one of the two strides is usually 1
  int64_t a_k = 1;
  // B: the first of these that is set.
  const void* packed_b = nullptr;
  PanelType panel_type = PanelType::kWhole;  // T, or of floats 16 bits
  int64_t packed_k = 0;                      // rows of the whole packed matrix, when this GEMM reads some of them; 0: k
  const GemmPanelSource<T>* source = nullptr;
  const T* b = nullptr;
  int64_t b_k = 0;
  int64_t b_col = 1;
  T* c = nullptr;
  int64_t c_row = 0;
  int64_t c_col = 1;  // other than 1: c_row must be 1 and B packed; neither `accumulate` nor a residual
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

/// Elements of scratch that Gemm wants for these arguments; with none given it still works, slower where rows are few.
template <class T>
size_t GemmWorkspaceSize(const GemmArgs<T>& args, int threads);

template <class T>
void Gemm(ThreadPool& threads, const GemmArgs<T>& args, T* workspace = nullptr);

/// On the calling thread.
template <class T>
void GemmSerial(const GemmArgs<T>& args);

/// A batch: `count` independent GEMMs of the same m, n and k; `problem(i)` describes the i-th.
template <class T>
void GemmBatch(ThreadPool& threads, int64_t count, const GemmArgs<T>& shape, FunctionRef<GemmArgs<T>(int64_t)> problem);

extern template size_t PackedGemmBSize<float>(int64_t, int64_t);
extern template size_t PackedGemmBSize<double>(int64_t, int64_t);
extern template void PackGemmPanel<float>(const float*, int64_t, int64_t, int64_t, int64_t, float*);
extern template void PackGemmPanel<double>(const double*, int64_t, int64_t, int64_t, int64_t, double*);
extern template int64_t GemmPanelWidth<float>();
extern template int64_t GemmPanelWidth<double>();
extern template void PackGemmB<float>(ThreadPool&, int64_t, int64_t, const float*, int64_t, int64_t, float*);
extern template void PackGemmB<double>(ThreadPool&, int64_t, int64_t, const double*, int64_t, int64_t, double*);
extern template size_t GemmWorkspaceSize<float>(const GemmArgs<float>&, int);
extern template size_t GemmWorkspaceSize<double>(const GemmArgs<double>&, int);
extern template void Gemm<float>(ThreadPool&, const GemmArgs<float>&, float*);
extern template void Gemm<double>(ThreadPool&, const GemmArgs<double>&, double*);
extern template void GemmSerial<float>(const GemmArgs<float>&);
extern template void GemmSerial<double>(const GemmArgs<double>&);
extern template void GemmBatch<float>(ThreadPool&, int64_t, const GemmArgs<float>&, FunctionRef<GemmArgs<float>(int64_t)>);
extern template void GemmBatch<double>(ThreadPool&, int64_t, const GemmArgs<double>&,
                                       FunctionRef<GemmArgs<double>(int64_t)>);

}  // namespace tessera::cpu
