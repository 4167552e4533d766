#include "cpu/ops/signal/cosine_window.h"

#include <cmath>
#include <numbers>

#include "base/check.h"
#include "cpu/ops/signal/number_table.h"
#include "cpu/ops/signal/transform.h"
#include "cpu/types.h"

namespace tessera::cpu {

CosineWindow::CosineWindow(const KernelInfo& info, double a0, double a1, double a2)
    : type_(TableType(info)), periodic_(info.attribute<int64_t>("periodic", 1) != 0), a0_(a0), a1_(a1), a2_(a2) {}

void CosineWindow::Compute(KernelContext& context) {
  context.required_input(0);
  const int64_t size = ReadLength(context, 0, 0);
  Require(size >= 0, "size is {}", size);
  Tensor* output = context.output(0, type_, Shape{size});
  if (output == nullptr) return;
  const double step = 2 * std::numbers::pi / static_cast<double>(periodic_ ? size : size - 1);
  VisitType(NumberTypes{}, type_, [&]<class T>() {
    T* out = output->template mutable_data<T>();
    context.threads().ParallelFor(size, 30, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double t = static_cast<double>(i) * step;
        const double third = a2_ == 0 ? 0.0 : a2_ * std::cos(2 * t);
        out[i] = FromDouble<T>(a0_ - a1_ * std::cos(t) + third);
      }
    });
  });
}

}  // namespace tessera::cpu
