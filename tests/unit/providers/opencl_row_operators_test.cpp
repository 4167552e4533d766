// Operators of the OpenCL provider whose kernels for processors go along rows: moved elements, padding, broadcasting,
// resizing, sums of products; rows shorter and longer than an item's; against the CPU provider. Skipped where there is no
// device.

#include <gmock/gmock.h>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::Int;
using testing::Ints;
using testing::ModelBuilder;
using testing::OnKernels;
using testing::Random;
using testing::RandomFloats;
using testing::Text;

using Dims = std::vector<int64_t>;

class OpenclRowOperatorsTest : public OnKernels {};

TEST_P(OpenclRowOperatorsTest, Transposed) {
  struct Case {
    Dims x, perm;
  };
  const Case cases[] = {{{33, 17}, {1, 0}},
                        {{2, 16, 5000}, {0, 2, 1}},
                        {{3, 5, 7, 9}, {0, 2, 1, 3}},
                        {{2, 3, 40, 6}, {3, 1, 2, 0}},
                        {{1, 20, 1, 3}, {3, 2, 1, 0}},
                        {{2, 2, 2, 2, 18}, {4, 2, 0, 3, 1}},
                        {{5000, 3}, {1, 0}}};
  for (const Case& one : cases) {
    ModelBuilder model(18);
    model.Input("x", ElementType::kFloat, one.x);
    model.AnyOutput("y", ElementType::kFloat);
    Ints(model.Node("Transpose", {"x"}, {"y"}), "perm", one.perm);
    SCOPED_TRACE(Shape(std::span<const int64_t>(one.x)).ToString());
    ExpectAsOnCpu(model, {RandomFloats(one.x, 1)});
  }
}

TEST_P(OpenclRowOperatorsTest, PaddedByEveryMode) {
  const std::vector<std::pair<Dims, Dims>> cases = {
      {{3, 5, 7}, {1, 0, 3, 2, 1, 4}}, {{2, 6000}, {1, 5, 0, 6}}, {{4, 9}, {-1, -2, 3, 1}}, {{3, 9}, {0, 4, 1, -3}}};
  for (const auto& [x, pads] : cases) {
    for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
      ModelBuilder model(19);
      model.Input("x", ElementType::kFloat, x)
          .Constant("p", {static_cast<int64_t>(pads.size())}, pads)
          .Constant("v", {}, std::vector<float>{3});
      model.AnyOutput("y", ElementType::kFloat);
      Text(model.Node("Pad", {"x", "p", "v"}, {"y"}), "mode", mode);
      SCOPED_TRACE(Shape(std::span<const int64_t>(x)).ToString() + mode);
      ExpectAsOnCpu(model, {RandomFloats(x, 1)});
    }
  }
}

TEST_P(OpenclRowOperatorsTest, Broadcast) {
  const std::vector<std::pair<Dims, Dims>> cases = {
      {{2, 3, 5, 7}, {1, 3, 1, 1}}, {{3, 1}, {3, 9000}}, {{5, 1, 37}, {5, 6, 37}}, {{4, 33}, {33}},
      {{2, 1, 4}, {1, 3, 1}},       {{10000}, {1}},      {{2, 17, 1}, {1, 1, 19}}, {{6, 5}, {6, 5}}};
  for (const auto& [a, b] : cases) {
    for (const char* op : {"Sub", "Pow", "Max"}) {
      ModelBuilder model(18);
      model.Input("a", ElementType::kFloat, a).Input("b", ElementType::kFloat, b);
      model.AnyOutput("y", ElementType::kFloat);
      model.Node(op, {"a", "b"}, {"y"});
      SCOPED_TRACE(Shape(std::span<const int64_t>(a)).ToString() + Shape(std::span<const int64_t>(b)).ToString() + op);
      ExpectAsOnCpu(model, {RandomFloats(a, 1), RandomFloats(b, 2)});
    }
    ModelBuilder model(18);
    model.Input("a", ElementType::kFloat, a).Input("b", ElementType::kFloat, b).Constant("zero", {}, std::vector<float>{0});
    model.AnyOutput("y", ElementType::kFloat);
    model.Node("Greater", {"b", "zero"}, {"c"});
    model.Node("Where", {"c", "a", "b"}, {"y"});
    SCOPED_TRACE("Where" + Shape(std::span<const int64_t>(a)).ToString());
    ExpectAsOnCpu(model, {RandomFloats(a, 1), RandomFloats(b, 2)});
  }
}

TEST_P(OpenclRowOperatorsTest, Resized) {
  struct Case {
    Dims x, sizes;
  };
  const Case cases[] = {{{1, 3, 8, 9}, {1, 3, 16, 18}},     {{2, 2, 7, 5}, {2, 2, 3, 11}},
                        {{1, 2, 6, 40}, {1, 2, 9, 40}},     {{1, 1, 3, 4200}, {1, 1, 5, 4300}},
                        {{1, 2, 3, 2100}, {1, 2, 3, 4200}}, {{1, 4, 50, 100}, {1, 4, 50, 100}},
                        {{1, 2, 5, 6, 7}, {1, 2, 7, 4, 15}}};
  for (const Case& one : cases) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      if (one.x.size() > 4 && std::string(mode) == "cubic") continue;
      for (const char* transform : {"half_pixel", "align_corners", "tf_crop_and_resize"}) {
        ModelBuilder model(18);
        model.Input("x", ElementType::kFloat, one.x).Constant("s", {static_cast<int64_t>(one.sizes.size())}, one.sizes);
        const bool cropped = std::string(transform) == "tf_crop_and_resize";
        std::vector<float> roi(one.x.size() * 2, 0);
        for (size_t i = 0; i < roi.size(); ++i) roi[i] = i < one.x.size() ? 0 : 1;
        roi[one.x.size() - 1] = 0.2f, roi.back() = 1.3f;
        model.Constant("roi", {static_cast<int64_t>(roi.size())}, roi);
        model.AnyOutput("y", ElementType::kFloat);
        auto& node = model.Node("Resize", {"x", cropped ? "roi" : "", "", "s"}, {"y"});
        Text(Text(node, "mode", mode), "coordinate_transformation_mode", transform);
        if (cropped) testing::Float(node, "extrapolation_value", 9);
        SCOPED_TRACE(Shape(std::span<const int64_t>(one.x)).ToString() + mode + transform);
        ExpectAsOnCpu(model, {RandomFloats(one.x, 1)});
      }
    }
  }
}

TEST_P(OpenclRowOperatorsTest, SumsOfProducts) {
  struct Case {
    const char* equation;
    Dims a, b;
  };
  const Case cases[] = {
      {"bhid,bhjd->bhij", {2, 3, 19, 8}, {2, 3, 21, 8}},
      {"bhij,bhjd->bhid", {2, 3, 19, 21}, {2, 3, 21, 8}},
      {"bhid,bhjd->bihj", {2, 3, 19, 8}, {2, 3, 21, 8}},  // the result's matrices are not one after the other
      {"ik,kj->ij", {7, 33}, {33, 20}},
      {"ki,kj->ij", {33, 7}, {33, 20}},
      {"binh,tnh->bnit", {1, 9, 3, 8}, {20, 3, 8}},
      {"bni,tn->nbit", {2, 3, 5}, {7, 3}},
      {"bik,kj->bij", {3, 4, 5}, {5, 17}},
      {"ik,bjk->bij", {4, 5}, {3, 17, 5}},
      {"i,j->ij", {18}, {5}},
      {"ij,ij->", {4, 5}, {4, 5}},
      {"bik,bkj->bij", {1, 4, 5}, {3, 5, 17}},
      {"aibk,bkj->aibj", {2, 3, 4, 5}, {4, 5, 6}},
  };
  for (const Case& one : cases) {
    ModelBuilder model(18);
    model.Input("a", ElementType::kFloat, one.a).Input("b", ElementType::kFloat, one.b);
    model.AnyOutput("y", ElementType::kFloat);
    Text(model.Node("Einsum", {"a", "b"}, {"y"}), "equation", one.equation);
    SCOPED_TRACE(one.equation);
    ExpectAsOnCpu(model, {RandomFloats(one.a, 1), RandomFloats(one.b, 2)});
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OpenclRowOperatorsTest, ::testing::Values("panels", "tiles"));

}  // namespace
}  // namespace tessera
