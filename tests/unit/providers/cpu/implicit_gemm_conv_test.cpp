// Convolutions by an implicit GEMM give what those give whose weights are an input.

#include "providers/convolution.h"

namespace tessera::testing {
namespace {

TEST(ImplicitGemmConv, GivesTheSameResults) {
  for (const ConvolutionCase& c : {
           ConvolutionCase{{2, 5, 9, 13}, {3, 5, 3, 3}, {1, 1, 1, 1}, {1, 1}},
           ConvolutionCase{{1, 4, 30, 17}, {1, 4, 7, 5}, {3, 2, 3, 2}, {1, 1}},
           ConvolutionCase{{3, 7, 5, 6}, {6, 7, 3, 3}, {0, 2, 1, 0}, {1, 1}},
           ConvolutionCase{{1, 6, 11, 12}, {13, 6, 3, 3}, {2, 4, 3, 1}, {2, 3}},
           ConvolutionCase{{5, 3, 1, 3}, {2, 3, 3, 3}, {1, 1, 1, 1}, {1, 1}},
           ConvolutionCase{{1, 6, 6, 6}, {12, 6, 3, 3}, {1, 1, 4, 5}, {1, 1}},  // windows of padding alone
           ConvolutionCase{{1, 6, 6, 6}, {2, 6, 3, 3}, {4, 1, 1, 1}, {1, 1}},   // at the beginning, too
           ConvolutionCase{{4, 6, 9, 9}, {9, 6, 3, 3}, {1, 1, 1, 1}, {1, 1}, {2, 1}},
           ConvolutionCase{{7, 6, 14, 14}, {25, 6, 3, 3}, {1, 1, 1, 1}, {1, 1}, {2, 2}},
           ConvolutionCase{{2, 3, 33, 70}, {16, 3, 7, 7}, {3, 3, 3, 3}, {1, 1}, {2, 2}},
           ConvolutionCase{{2, 3, 33, 70}, {5, 3, 8, 8}, {0, 0, 0, 0}, {1, 1}, {4, 4}},
           ConvolutionCase{{2, 3, 20, 41}, {4, 3, 2, 2}, {0, 0, 0, 0}, {1, 1}, {3, 5}},  // strides longer than windows
           ConvolutionCase{{2, 3, 20, 41}, {11, 3, 3, 2}, {2, 0, 2, 3}, {2, 3}, {3, 2}},
           ConvolutionCase{{3, 8, 70}, {10, 8, 7}, {3, 3}, {1}},
           ConvolutionCase{{3, 8, 70}, {1, 8, 1}, {0, 0}, {1}},
           ConvolutionCase{{3, 2, 400}, {3, 2, 5}, {2, 2}, {3}, {4}},
           ConvolutionCase{{2, 3, 4, 5, 6}, {7, 3, 3, 3, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}},
           ConvolutionCase{{2, 3, 5, 7, 9}, {4, 3, 2, 3, 3}, {0, 1, 1, 1, 1, 0}, {1, 1, 1}, {2, 2, 2}},
           ConvolutionCase{{2, 12, 7, 7}, {9, 4, 3, 3}, {1, 1, 1, 1}, {1, 1}, {}, 3},
           ConvolutionCase{{5, 16, 9, 8}, {40, 8, 1, 1}, {0, 0, 0, 0}, {1, 1}, {2, 2}, 2},
           ConvolutionCase{{3, 8, 6, 7}, {26, 4, 3, 3}, {1, 1, 1, 1}, {1, 1}, {}, 2},
           ConvolutionCase{{2, 40, 9, 13}, {20, 40, 3, 3}, {1, 1, 1, 1}, {1, 1}},  // deep: in parts
           ConvolutionCase{{1, 30, 6, 7}, {210, 30, 3, 3}, {1, 1, 1, 1}, {1, 1}},  // of many outputs
           ConvolutionCase{{1, 300, 4, 17}, {7, 300, 1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 2}},
           ConvolutionCase{{1, 50, 8, 32}, {16, 50, 3, 3}, {1, 1, 1, 1}, {1, 1}, {2, 2}},  // phases of two vectors
           ConvolutionCase{{2, 5, 7, 35}, {8, 5, 3, 9}, {1, 4, 1, 9}, {1, 1}, {2, 2}},
           ConvolutionCase{{2, 5, 7, 3}, {8, 5, 3, 3}, {1, 9, 1, 30}, {1, 1}, {2, 1}},  // mostly padding
           ConvolutionCase{{2, 6, 9, 1}, {4, 6, 3, 1}, {1, 0, 3, 0}, {1, 1}},           // rows far shorter than a vector
           ConvolutionCase{{2, 6, 9, 2}, {4, 6, 3, 1}, {1, 0, 3, 0}, {1, 1}, {2, 1}},
           ConvolutionCase{{3, 6, 9, 3}, {4, 6, 3, 3}, {1, 1, 3, 1}, {1, 1}, {2, 2}},
           ConvolutionCase{{3, 6, 9, 2}, {4, 6, 3, 3}, {1, 1, 5, 1}, {1, 1}},
       }) {
    ExpectSameConvolution(c, false, "implicit GEMM");
  }
}

}  // namespace
}  // namespace tessera::testing
