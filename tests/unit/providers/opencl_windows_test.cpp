// Windows over images on the OpenCL provider: convolutions of single channels and transposed ones, at sizes around those of
// tiles and vectors; against the CPU provider. Skipped where there is no device.

#include <gmock/gmock.h>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::ConvolutionCase;
using testing::Elsewhere;
using testing::ExpectClose;
using testing::Floats;
using testing::Int;
using testing::Ints;
using ::testing::IsEmpty;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::On;
using testing::OnDevice;
using testing::PlainOn;
using testing::Random;
using testing::ResultsOf;

int64_t Elements(const std::vector<int64_t>& dims) { return Shape(std::span<const int64_t>(dims)).num_elements(); }

/// By panels and by tiles, computed in `type` between casts.
class OpenclWindowsTest : public OnDevice<::testing::TestWithParam<std::tuple<const char*, ElementType>>> {
 protected:
  /// `op` of images with filters, a bias and what follows; `of_filters`: dimension of the weights that is the number of
  /// results' channels.
  static void ExpectAsOnCpu(const char* op, const ConvolutionCase& one, int64_t filters, bool constant,
                            const std::vector<int64_t>& output_padding = {}) {
    const auto [kernels, type] = GetParam();
    SCOPED_TRACE(Shape(std::span<const int64_t>(one.x)).ToString() + Shape(std::span<const int64_t>(one.w)).ToString());
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, one.x).AnyOutput("z", ElementType::kFloat);
    std::vector<Value> inputs = {Floats(one.x, Random(static_cast<size_t>(Elements(one.x)), 7))};
    const std::vector<float> weights = Random(static_cast<size_t>(Elements(one.w)), 5);
    if (constant) {
      model.Constant("w", one.w, weights);
    } else {
      model.Input("w", ElementType::kFloat, one.w);
      inputs.push_back(Floats(one.w, weights));
    }
    model.Constant("b", {filters}, Random(static_cast<size_t>(filters), 6));
    for (const char* name : {"x", "w", "b"})
      Int(model.Node("Cast", {name}, {std::string(name) + "t"}), "to", static_cast<int64_t>(type));
    auto& node = model.Node(op, {"xt", "wt", "bt"}, {"y"});
    one.SetAttributes(node);
    if (!output_padding.empty()) Ints(node, "output_padding", output_padding);
    model.Node("Relu", {"y"}, {"r"});
    Int(model.Node("Cast", {"r"}, {"z"}), "to", static_cast<int64_t>(ElementType::kFloat));
    const Session device = model.Session(On(kOpencl, {{"kernels", kernels}})),
                  cpu = model.Session(PlainOn("cpu"));  // which rounds to halves
    EXPECT_THAT(Elsewhere(device), IsEmpty());
    ExpectClose(ResultsOf(device, inputs), ResultsOf(cpu, inputs), type == ElementType::kFloat16 ? 2e-3f : 1e-4f);
  }
};

TEST_P(OpenclWindowsTest, EachChannelByFiltersOfItsOwn) {
  const ConvolutionCase cases[] = {
      {{2, 5, 7, 7}, {5, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 5},
      {{1, 3, 37, 70}, {3, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 3},   // tiles of columns that overlap
      {{1, 3, 37, 131}, {6, 1, 5, 5}, {2, 0, 1, 2}, {2, 2}, {1, 1}, 3},  // two filters of a channel
      {{1, 2, 16, 16}, {2, 1, 7, 7}, {3, 3, 3, 3}, {1, 1}, {1, 1}, 2},
      {{1, 2, 40, 40}, {2, 1, 3, 3}, {12, 12, 12, 12}, {1, 1}, {12, 12}, 2},  // smaller tiles
      {{2, 2, 30, 30}, {2, 1, 3, 2}, {0, 1, 2, 3}, {3, 4}, {2, 3}, 2},
      {{1, 2, 20, 20}, {2, 1, 1, 1}, {0, 0, 0, 0}, {2, 3}, {1, 1}, 2},  // one tap
      {{1, 2, 33, 33}, {2, 1, 31, 31}, {15, 15, 15, 15}, {1, 1}, {1, 1}, 2},
      {{1, 4, 99}, {4, 1, 31}, {15, 15}, {1}, {1}, 4},
      {{1, 2, 500}, {2, 1, 3}, {70, 170}, {1}, {120}, 2},
      {{1, 2, 40, 40}, {2, 1, 3, 3}, {90, 90, 90, 90}, {1, 1}, {90, 90}, 2},  // reads more than an item keeps
      {{1, 2, 20000}, {2, 1, 2}, {0, 0}, {1}, {9000}, 2},
      {{1, 2, 5, 6, 7}, {2, 1, 3, 3, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 2},
  };
  for (const ConvolutionCase& one : cases) {
    for (const bool constant : {true, false}) ExpectAsOnCpu("Conv", one, one.w[0], constant);
  }
}

TEST_P(OpenclWindowsTest, Transposed) {
  const ConvolutionCase cases[] = {
      {{2, 5, 6, 7}, {5, 3, 3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 1},
      {{1, 16, 8, 8}, {16, 7, 4, 4}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 1},  // the image is the matmul's matrix
      {{2, 8, 5, 4}, {8, 3, 2, 2}, {0, 0, 0, 0}, {2, 2}, {1, 1}, 2},    // windows beside each other, two groups
      {{1, 4, 3, 5}, {4, 2, 3, 2}, {0, 1, 2, 0}, {1, 3}, {2, 1}, 1},
      {{1, 4, 3, 5}, {4, 2, 2, 3}, {0, 0, 0, 0}, {3, 5}, {1, 1}, 1},  // places that no tap reaches
      {{2, 6, 1, 1}, {6, 9, 4, 4}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1},
      {{1, 6, 300}, {6, 4, 16}, {4, 4}, {8}, {1}, 1},  // several tiles of a row
      {{1, 3, 9}, {3, 2, 5}, {1, 2}, {1}, {3}, 1},
      {{1, 2, 4}, {2, 1, 300}, {0, 0}, {290}, {1}, 1},  // a stride that no item keeps
      {{1, 3, 3, 4, 5}, {3, 2, 3, 2, 3}, {1, 0, 1, 0, 1, 1}, {2, 1, 2}, {1, 1, 1}, 1},
      {{1, 2, 200, 200}, {2, 8, 4, 4}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 1},  // filters in several parts
  };
  for (const ConvolutionCase& one : cases) {
    for (const bool constant : {true, false}) ExpectAsOnCpu("ConvTranspose", one, one.w[1] * one.group, constant);
  }
  ExpectAsOnCpu("ConvTranspose", cases[0], 3, true, {1, 1});
}

INSTANTIATE_TEST_SUITE_P(Kernels, OpenclWindowsTest,
                         ::testing::Combine(::testing::Values("panels", "tiles"),
                                            ::testing::Values(ElementType::kFloat, ElementType::kFloat16)));

}  // namespace
}  // namespace tessera
