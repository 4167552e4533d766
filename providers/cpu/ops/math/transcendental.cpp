// Exp, Log, Tanh (1, 6, 13), Sin, Cos, Tan, Asin, Acos, Atan (7, 22), Sinh, Cosh, Asinh, Acosh, Atanh (9, 22), Erf (9, 13).

#include <cmath>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/math/transcendental.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"
#include "kernels/elementwise/math-inl.h"

#ifndef TESSERA_OPS_TRANSCENDENTAL_ONCE
#define TESSERA_OPS_TRANSCENDENTAL_ONCE
namespace tessera::cpu {
enum class Transcendental {
  kExp,
  kLog,
  kTanh,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf
};
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

#define TESSERA_VECTOR_FUNCTION(name)         \
  struct name##Of {                           \
    template <class D, class V>               \
    HWY_INLINE V operator()(D d, V x) const { \
      return vmath::name(d, x);               \
    }                                         \
  };
TESSERA_VECTOR_FUNCTION(Exp)
TESSERA_VECTOR_FUNCTION(Log)
TESSERA_VECTOR_FUNCTION(Tanh)
TESSERA_VECTOR_FUNCTION(Sin)
TESSERA_VECTOR_FUNCTION(Cos)
TESSERA_VECTOR_FUNCTION(Tan)
TESSERA_VECTOR_FUNCTION(Asin)
TESSERA_VECTOR_FUNCTION(Acos)
TESSERA_VECTOR_FUNCTION(Atan)
TESSERA_VECTOR_FUNCTION(Sinh)
TESSERA_VECTOR_FUNCTION(Cosh)
TESSERA_VECTOR_FUNCTION(Asinh)
TESSERA_VECTOR_FUNCTION(Acosh)
TESSERA_VECTOR_FUNCTION(Atanh)
TESSERA_VECTOR_FUNCTION(Erf)
#undef TESSERA_VECTOR_FUNCTION

template <class T>
SpanLoop LoopOf(Transcendental op) {
  switch (op) {
    case Transcendental::kExp: return VectorUnaryLoop<T, ExpOf>;
    case Transcendental::kLog: return VectorUnaryLoop<T, LogOf>;
    case Transcendental::kTanh: return VectorUnaryLoop<T, TanhOf>;
    case Transcendental::kSin: return VectorUnaryLoop<T, SinOf>;
    case Transcendental::kCos: return VectorUnaryLoop<T, CosOf>;
    case Transcendental::kTan: return VectorUnaryLoop<T, TanOf>;
    case Transcendental::kAsin: return VectorUnaryLoop<T, AsinOf>;
    case Transcendental::kAcos: return VectorUnaryLoop<T, AcosOf>;
    case Transcendental::kAtan: return VectorUnaryLoop<T, AtanOf>;
    case Transcendental::kSinh: return VectorUnaryLoop<T, SinhOf>;
    case Transcendental::kCosh: return VectorUnaryLoop<T, CoshOf>;
    case Transcendental::kAsinh: return VectorUnaryLoop<T, AsinhOf>;
    case Transcendental::kAcosh: return VectorUnaryLoop<T, AcoshOf>;
    case Transcendental::kAtanh: return VectorUnaryLoop<T, AtanhOf>;
    case Transcendental::kErf: return VectorUnaryLoop<T, ErfOf>;
  }
  return nullptr;
}

}  // namespace

SpanLoop FindTranscendentalLoop(Transcendental op, ElementType type) {
  return type == ElementType::kDouble ? LoopOf<double>(op) : LoopOf<float>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindTranscendentalLoop);

namespace {

template <Transcendental kOp>
class TranscendentalKernel final : public UnaryKernel {
 public:
  explicit TranscendentalKernel(const KernelInfo& info)
      : UnaryKernel(info, {HWY_DYNAMIC_DISPATCH(FindTranscendentalLoop)(kOp, ComputeTypeOf(info.input_type(0))),
                           info.input_type(0) == ElementType::kDouble ? 6.0 : 1.0}) {}
};

template <Transcendental kOp>
void Add(KernelRegistry& registry, const char* name) {
  registry.Add(Op(name).Versions(1).Types(0, kFloats).InPlace(0, 0).Make<TranscendentalKernel<kOp>>());
}

/// Erf-9 takes integers, too: the result is truncated, so 0 or +-1 for what erf rounds to in double.
template <class T>
class IntegerErf final : public Kernel {
 public:
  explicit IntegerErf(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor* y = context.output(0, x.shape());
    if (y == nullptr) return;
    const T* source = x.data<T>();
    T* target = y->mutable_data<T>();
    for (int64_t i = 0; i < x.num_elements(); ++i) target[i] = static_cast<T>(std::erf(static_cast<double>(source[i])));
  }
};

}  // namespace

void RegisterExp(KernelRegistry& registry) { Add<Transcendental::kExp>(registry, "Exp"); }
void RegisterLog(KernelRegistry& registry) { Add<Transcendental::kLog>(registry, "Log"); }
void RegisterTanh(KernelRegistry& registry) { Add<Transcendental::kTanh>(registry, "Tanh"); }
void RegisterSin(KernelRegistry& registry) { Add<Transcendental::kSin>(registry, "Sin"); }
void RegisterCos(KernelRegistry& registry) { Add<Transcendental::kCos>(registry, "Cos"); }
void RegisterTan(KernelRegistry& registry) { Add<Transcendental::kTan>(registry, "Tan"); }
void RegisterAsin(KernelRegistry& registry) { Add<Transcendental::kAsin>(registry, "Asin"); }
void RegisterAcos(KernelRegistry& registry) { Add<Transcendental::kAcos>(registry, "Acos"); }
void RegisterAtan(KernelRegistry& registry) { Add<Transcendental::kAtan>(registry, "Atan"); }
void RegisterSinh(KernelRegistry& registry) { Add<Transcendental::kSinh>(registry, "Sinh"); }
void RegisterCosh(KernelRegistry& registry) { Add<Transcendental::kCosh>(registry, "Cosh"); }
void RegisterAsinh(KernelRegistry& registry) { Add<Transcendental::kAsinh>(registry, "Asinh"); }
void RegisterAcosh(KernelRegistry& registry) { Add<Transcendental::kAcosh>(registry, "Acosh"); }
void RegisterAtanh(KernelRegistry& registry) { Add<Transcendental::kAtanh>(registry, "Atanh"); }
void RegisterErf(KernelRegistry& registry) {
  Add<Transcendental::kErf>(registry, "Erf");
  registry.Add(Op("Erf").Versions(9).Types(0, kInts).InPlace(0, 0).Factory(MakeTyped<IntegerErf, IntTypes>));
}

}  // namespace tessera::cpu
#endif
