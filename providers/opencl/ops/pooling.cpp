// MaxPool (1-22, values only), AveragePool (1-22), GlobalAveragePool, GlobalMaxPool.

#include "kernel.h"
#include "window.h"

namespace tessera::opencl {
namespace {

struct Geometry {
  cl_int in[3], out[3], window[3], stride[3], dilation[3], pad[3];
  cl_int mean, include_padding;
};

std::string Defines(ElementType type) {
  const char* lowest = type == ElementType::kInt8 ? "CHAR_MIN" : type == ElementType::kUInt8 ? "0" : "-INFINITY";
  return Computed('X', type) + fmt::format("#define LOWEST {}\n", lowest);
}

class Pool final : public Kernel {
 public:
  explicit Pool(const KernelInfo& info)
      : kernel_(DeviceOf(info), "pooling", Defines(info.input_type(0)), "pool"),
        window_(info),
        global_(info.node().op_type.starts_with("Global")),
        mean_(info.node().op_type.ends_with("AveragePool")),
        include_padding_(info.attribute<int64_t>("count_include_pad", 0) != 0) {
    // With these the last windows reach past the padding, which the divisor must not count.
    if (mean_ && include_padding_ && info.attribute<int64_t>("ceil_mode", 0) != 0) {
      Fail(ErrorCode::kNotImplemented, "an average that counts padding and rounds sizes up is left to the CPU provider");
    }
    if (info.has_output(1)) Fail(ErrorCode::kNotImplemented, "indices of maxima are left to the CPU provider");
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& xs = x.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5, "the input is {}; 3 to 5 dimensions are expected", xs.ToString());
    Window w;
    if (global_) {
      w.rank = xs.rank() - 2;
      for (size_t i = 0; i < w.rank; ++i) {
        w.in[i] = w.kernel[i] = xs[i + 2];
        w.out[i] = w.stride[i] = w.dilation[i] = 1;
      }
    } else {
      w = window_.Resolve(xs, window_.kernel_shape());
    }
    Shape ys = xs;
    for (size_t i = 2; i < xs.rank(); ++i) ys[i] = w.out[i - 2];
    Tensor& y = *context.output(0, ys);
    Geometry g{};
    w.Fill(g.in, g.out, g.window, g.stride, g.dilation, g.pad);
    g.mean = mean_;
    g.include_padding = include_padding_;
    kernel_.Grid(context, ys.SizeOfRange(2, ys.rank()), xs[0] * xs[1], 1, x, y, g);
  }

 private:
  Launchable kernel_;
  WindowAttributes window_;
  bool global_, mean_, include_padding_;
};

}  // namespace

void RegisterPooling(KernelRegistry& registry) {
  registry.Add(Op("MaxPool").Versions(1).Types(0, kReals | TypeSet{ElementType::kInt8, ElementType::kUInt8}).Make<Pool>());
  for (const char* op : {"AveragePool", "GlobalAveragePool", "GlobalMaxPool"}) {
    registry.Add(Op(op).Versions(1).Types(0, kReals).Make<Pool>());
  }
}

}  // namespace tessera::opencl
