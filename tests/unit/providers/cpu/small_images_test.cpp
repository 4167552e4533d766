// Convolutions of small images with constant weights give what those give whose weights are an input.

#include "providers/convolution.h"

namespace tessera::testing {
namespace {

TEST(SmallImagesConv, GivesTheSameResults) {
  for (const ConvolutionCase& c : {
           ConvolutionCase{
               {100, 17, 2, 2}, {16, 17, 3, 3}, {1, 1, 1, 1}, {1, 1}},  // some matmuls, the last with fewer images
           ConvolutionCase{{5, 8, 3, 4}, {37, 8, 3, 2}, {1, 0, 2, 1}, {1, 1}},
           ConvolutionCase{{7, 64, 1, 1}, {19, 64, 1, 1}, {0, 0, 0, 0}, {1, 1}},          // a plain matmul
           ConvolutionCase{{7, 64, 1, 1}, {19, 64, 3, 3}, {1, 1, 1, 1}, {1, 1}},          // of the middle tap alone
           ConvolutionCase{{4, 33, 4, 4}, {16, 33, 1, 1}, {0, 0, 0, 0}, {1, 1}},          // pixels as they lie
           ConvolutionCase{{4, 33, 4, 4}, {16, 33, 1, 1}, {0, 0, 0, 0}, {1, 1}, {3, 3}},  // some of them
           ConvolutionCase{{2, 9, 9, 9}, {16, 9, 3, 3}, {2, 4, 3, 1}, {2, 3}, {3, 4}},
           ConvolutionCase{{2, 9, 3, 3}, {16, 9, 3, 3}, {4, 4, 1, 1}, {1, 1}, {2, 2}},  // windows of padding alone
           ConvolutionCase{{1, 40, 8}, {24, 40, 5}, {2, 2}, {1}},
           ConvolutionCase{{9, 12, 2, 2, 3}, {16, 12, 2, 2, 2}, {0, 0, 0, 1, 1, 1}, {1, 1, 1}},
       }) {
    ExpectSameConvolution(c, false);
  }
}

}  // namespace
}  // namespace tessera::testing
