#pragma once

// Col2Im (18): columns of sliding blocks added back into an image.

#include "base/check.h"
#include "ops/integer_list.h"
#include "ops/nn/window.h"

namespace tessera {

struct Col2ImAttributes {
  explicit Col2ImAttributes(const Node& node) : window(node) {}

  /// The window of blocks over the image; its outputs are the columns. The shapes of both are in host memory. Throws Error
  /// unless x is [N, C * elements of a block, columns] of them.
  Window Fit(const Shape& x, const Tensor& image_shape, const Tensor& block_shape) const {
    const Shape block = Sizes(block_shape, "block_shape");
    const Window blocks = window.Fit(Sizes(image_shape, "image_shape").dims(), block.dims());
    const int64_t elements = block.num_elements(), columns = blocks.output.num_elements();
    Require(x.rank() == 3, "the input must have 3 dimensions, it is {}", x);
    Require(x[1] % elements == 0, "axis 1 of the input {} is not a multiple of the block's {} elements", x, elements);
    Require(x[2] == columns, "the input {} has {} columns, the image has {} blocks", x, x[2], columns);
    return blocks;
  }
  static Shape ResultShape(const Shape& x, const Window& blocks) {
    Shape result{x[0], x[1] / blocks.kernel.num_elements()};
    for (const int64_t size : blocks.input) result.Append(size);
    return result;
  }

  WindowAttributes window;

 private:
  static Shape Sizes(const Tensor& tensor, const char* name) {
    const IntegerList list(tensor, name);
    Require(list.size() > 0, "{} is empty", name);
    Shape sizes(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      Require(list[i] > 0 && list[i] <= INT32_MAX, "{} holds {}", name, list[i]);
      sizes[i] = list[i];
    }
    return sizes;
  }
};

}  // namespace tessera
