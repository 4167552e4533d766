#include "kernels/conv/winograd/fit.h"

#include <utility>

namespace tessera::cpu {
namespace {

bool Fits(const Window& window, size_t axis, WinogradAxisForm form) {
  const WinogradPlanes of = PlanesOf(form);
  if (window.kernel[axis] != of.taps || window.strides[axis] != of.stride) return false;
  const int64_t dilation = window.dilations[axis], most = (of.taps - 1) * dilation;
  if (of.transposed()) return dilation == 1 && window.begin[axis] % of.stride == of.transpose.pad;
  if (window.begin[axis] > most || window.end[axis] > most) return false;
  return of.taps == 1 || (dilation <= window.output[axis] && (of.stride == 1 || dilation == 1));
}

}  // namespace

Window Upright(const Window& window) {
  const size_t y = window.rank() - 2, x = window.rank() - 1;
  Window upright = window;
  if (window.input[y] != 1 || window.output[y] != 1 || window.kernel[y] != 1) return upright;
  for (Shape Window::* const sizes : {&Window::input, &Window::output, &Window::kernel, &Window::strides,
                                      &Window::dilations, &Window::begin, &Window::end}) {
    std::swap((upright.*sizes)[y], (upright.*sizes)[x]);
  }
  return upright;
}

bool FitsForm(const Window& window, WinogradForm form) {
  return Fits(window, window.rank() - 2, form.y) && Fits(window, window.rank() - 1, form.x);
}

WinogradAxis TilesAlong(const Window& window, size_t axis, WinogradAxisForm form) {
  const WinogradPlanes of = PlanesOf(form);
  return {window.output[axis], of.taps == 1 ? 1 : window.dilations[axis], of.side};
}

}  // namespace tessera::cpu
