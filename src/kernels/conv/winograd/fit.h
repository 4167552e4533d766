#pragma once

// Which windows the forms of axis.h fit. Windows are over three axes (kSpatialAxes), of which the last two are transformed,
// and upright.

#include "kernels/conv/winograd/axis.h"
#include "ops/nn/window.h"

namespace tessera::cpu {

/// The window with a line along the image's height, whose rows of tiles are what threads and caches share.
Window Upright(const Window& window);

/// Both forms have as many taps as the window, at its stride, in an image large enough.
bool FitsForm(const Window& window, WinogradForm form);

/// Tiles along an axis of the output.
WinogradAxis TilesAlong(const Window& window, size_t axis, WinogradAxisForm form);

}  // namespace tessera::cpu
