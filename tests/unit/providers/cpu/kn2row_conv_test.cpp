// Convolutions with few outputs and constant weights give what those give whose weights are an input.

#include "providers/convolution.h"

namespace tessera::testing {
namespace {

TEST(Kn2RowConv, GivesTheSameResults) {
  for (const ConvolutionCase& c : {
           ConvolutionCase{{2, 16, 9, 13}, {3, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}},
           ConvolutionCase{{1, 24, 30, 17}, {1, 24, 7, 5}, {3, 2, 3, 2}, {1, 1}},
           ConvolutionCase{{3, 17, 5, 6}, {6, 17, 3, 3}, {0, 2, 1, 0}, {1, 1}},
           ConvolutionCase{{1, 16, 11, 12}, {4, 16, 3, 3}, {2, 4, 3, 1}, {2, 3}},
           ConvolutionCase{{1, 16, 1, 3}, {2, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}},
           ConvolutionCase{{1, 16, 6, 6}, {2, 16, 3, 3}, {1, 1, 4, 5}, {1, 1}},  // windows of padding alone
           ConvolutionCase{{1, 16, 6, 6}, {2, 16, 3, 3}, {4, 1, 1, 1}, {1, 1}},  // at the beginning, too
           ConvolutionCase{{1, 16, 9, 9}, {2, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}, {2, 1}},
           ConvolutionCase{{2, 32, 70}, {1, 32, 7}, {3, 3}, {1}},
           ConvolutionCase{{1, 16, 4, 5, 6}, {2, 16, 3, 3, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}},
       }) {
    ExpectSameConvolution(c, true);
  }
}

}  // namespace
}  // namespace tessera::testing
