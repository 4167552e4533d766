#pragma once

// Long primitives in parts: oneDNN cannot be interrupted, so that a primitive takes no longer than a cancelled run may wait
// for.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "onednn/program/primitives.h"

namespace tessera::onednn {

/// Part of a result: elements [first, first + count) along each axis.
struct Box {
  Dims first, count;
};

/// An axis that may be cut, into pieces of at least so many elements, multiples of so many but for the last.
struct CutAxis {
  size_t axis;
  int64_t least = 1;
  int64_t multiple = 1;
};

/// A result of these dimensions, which takes `ns` nanoseconds on one thread, in as few boxes as take little time each; axes
/// are cut in their order. One box for what is short or cannot be cut.
std::vector<Box> BoxesOf(const Dims& dims, std::span<const CutAxis> axes, double ns);

/// Of [images, channels, spatial sizes...], only parts that are dense having fast implementations: the images, and of
/// single ones the channels, whole blocks of them.
std::vector<CutAxis> ChannelAxes(const Dims& dims);
/// Of images pixel after pixel: the images, and of single ones the rows (of volumes, the planes).
std::vector<CutAxis> RowAxes();
/// The axis along which parts are dense, unless it is `kept`.
std::vector<CutAxis> AllAxes(const Dims& dims, size_t kept = static_cast<size_t>(-1));

/// Whether an implementation of this name is the slow one for every shape and layout.
bool IsReference(std::string_view implementation);
/// Nanoseconds on one thread of so many multiplications and additions. `implementation`: its name.
double GemmNs(double operations, std::string_view implementation);
/// Whether what takes so many on one thread takes longer, on those that there are, than a cancelled run may wait.
bool IsLong(double ns);
/// And of reading and writing so many bytes.
inline double MovementNs(double bytes) { return bytes * 0.25; }

/// A window over the output positions of `box` (whose first two axes are no spatial ones): what of the input it sees, along
/// all axes, and its own padding. `input`: the input's dimensions; its first axis is the output's. Null where a position
/// sees nothing of the input.
struct WindowPart {
  Window window;
  Box input;
};
std::optional<WindowPart> PartOf(const Window& window, const Dims& input, const Box& box);

}  // namespace tessera::onednn
