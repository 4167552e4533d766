#include "base/check.h"
#include "base/cpu_features.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/precision.h"
#include "graph/node_label.h"
#include "onednn/claims/claims.h"
#include "onednn/claims/quantized_functions.h"
#include "onednn/claims/region.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/builder.h"
#include "onednn/program/program_cache.h"
#include "onednn/program/shared_weights.h"
#include "onednn/program/team_size.h"
#include "runtime/threads/openmp.h"
#include "runtime/threads/openmp_team.h"
#include "runtime/threads/thread_pools.h"
#include "tessera/providers/names.h"
#include "tessera/providers/onednn.h"
#include "tessera/session.h"

namespace tessera {
namespace onednn {

std::vector<std::span<const Lowering>> Lowerings() {
  return {ConvolutionLowerings(), DeconvolutionLowerings(),      MatMulLowerings(),           PoolingLowerings(),
          ElementwiseLowerings(), BatchNormalizationLowerings(), SoftmaxLowerings(),          LrnLowerings(),
          MovementLowerings(),    QuantizedConvLowerings(),      QuantizedGemmLowerings(),    QuantizationLowerings(),
          ReductionLowerings(),   ResamplingLowerings(),         RowNormalizationLowerings(), RecurrentLowerings(),
          AttentionLowerings()};
}

const Lowering* FindLowering(const Node& node) {
  static const auto families = Lowerings();
  for (const auto& family : families) {
    for (const Lowering& lowering : family) {
      if (lowering.op_type == node.op_type && lowering.domain == node.domain &&
          node.since_version >= lowering.first_version && node.since_version <= lowering.last_version) {
        return &lowering;
      }
    }
  }
  return nullptr;
}

namespace {

/// A region as one kernel. Programs are compiled for the input shapes that come.
class RegionKernel final : public Kernel {
 public:
  RegionKernel(const GraphViewer& region, const SessionServices& services, int threads, DataType operand_type,
               const CompileContext& compile_context)
      : region_(region),
        pool_(dynamic_cast<const SessionThreadPool*>(services.threads)),
        memory_(*services.memory),
        threads_(threads),
        operand_type_(operand_type),
        compile_context_(compile_context) {
    CompileAhead();
    compile_context_ = {};  // what a run compiles is for this process
  }

  void Compute(KernelContext& context) override {
    const size_t count = region_.inputs().size();
    auto shapes = context.scratch<const Shape*>(count);
    auto inputs = context.scratch<const void*>(count);
    for (size_t i = 0; i < count; ++i) {
      const Tensor& tensor = context.required_input(i);
      shapes[i] = &tensor.shape();
      inputs[i] = tensor.raw();
    }
    const std::shared_ptr<Program> program = programs_.Find(shapes, Team());
    auto outputs = context.scratch<void*>(program->output_shapes.size());
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = context.output(i, program->output_shapes[i])->mutable_raw();
    auto block = context.scratch<std::byte>(program->block_bytes());
    EnterOpenMpTeam(program->threads);
    const TeamSize team(program->threads);
    program->Run(inputs, outputs, block.data(), program->threads > 1 ? context.threads() : *serial_);
  }

  std::string Implementation(KernelContext& context) override {
    std::vector<const Shape*> shapes;
    for (size_t i = 0; i < region_.inputs().size(); ++i) shapes.push_back(&context.required_input(i).shape());
    return programs_.Find(shapes, Team())->Implementations();
  }

 private:
  /// With every shape known, all compilation happens now.
  void CompileAhead() {
    std::vector<Shape> shapes;
    bool known = true;
    for (ValueIndex input : region_.inputs()) {
      const auto& type = region_.value(input).type;
      if (!type.shape) return;
      Shape shape;
      for (const Dimension& dim : *type.shape) shape.Append(dim.known() ? dim.value : 1);
      known = known && ToShape(*type.shape).has_value();
      shapes.push_back(shape);
    }
    std::vector<const Shape*> pointers;
    pointers.reserve(shapes.size());
    for (const Shape& shape : shapes) pointers.push_back(&shape);
    if (known) {
      programs_.Find(pointers, threads_);
    } else if (compile_context_.packed != nullptr) {
      // A context is read and written now. Most packed weights do not depend on the unknown sizes, often the batch,
      // often 1.
      try {
        programs_.Find(pointers, threads_);
      } catch (const Error&) {
        // The region does not work with ones.
      }
    }
  }

  /// The size of the team that a run gets now. A primitive runs on as many threads as it was made for, so that other runs
  /// under way take another program; halves keep these few.
  int Team() const noexcept {
    const int share = pool_ == nullptr ? threads_ : pool_->share();
    int team = threads_;
    while (team > share) team /= 2;
    return std::max(team, 1);
  }

  std::shared_ptr<Program> Compile(const std::vector<Shape>& shapes, int team) const {
    std::shared_ptr<Program> program = CompileFor(shapes, team);
    return team > 1 && program->is_small() ? CompileFor(shapes, 1) : program;
  }

  std::shared_ptr<Program> CompileFor(const std::vector<Shape>& shapes, int threads) const {
    const TeamSize team(threads);  // implementations are chosen for a number of threads
    try {
      std::shared_ptr<Program> program = ProgramBuilder(region_, shapes, operand_type_, memory_, compile_context_).Build();
      program->threads = threads;
      return program;
    } catch (const dnnl::error& error) {
      Fail(ErrorCode::kEpFail, "the nodes from {} on: oneDNN: {}; {}",
           ModelLabel(region_.graph(), region_.node(region_.nodes().front())), error.what(), kRemedy);
    }
  }

  GraphViewer region_;
  const SessionThreadPool* const pool_;  // null: none that counts runs
  Allocator& memory_;
  const int threads_;
  const DataType operand_type_;
  CompileContext compile_context_;
  const std::shared_ptr<ThreadPool> serial_ = MakeSerialPool();
  ProgramCache programs_{[this](const std::vector<Shape>& shapes, int team) { return Compile(shapes, team); }};
};

// float16 came with oneDNN 3.
const OptionSchema kOptions[] = {
    {"claims",
     OptionType::kEnum,
     "faster",
     "nodes to take: those that it computes faster than the CPU provider on this processor, or all that it can",
     {"faster", "all"}},
    {"precision",
     OptionType::kEnum,
     "f32",
     "what convolutions and matmuls round their operands to, and what they hand to each other; below f32 a Relu, Clip, "
     "Sigmoid or Elu that runs inside them may give a number for NaN",
#if DNNL_VERSION_MAJOR >= 3
     {"f32", "bf16", "fp16"}},
#else
     {"f32", "bf16"}},
#endif
};

/// Float32, with a warning, where oneDNN has no instructions for it. (A session asks for nothing that the processor lacks,
/// but oneDNN can be kept from using what there is.)
DataType RequestedType(const ProviderOptions& options) {
  const auto option = options.find("precision");
  if (option == options.end() || option->second == "f32") return DataType::f32;
#if DNNL_VERSION_MAJOR >= 3
  const auto needed = option->second == "bf16" ? dnnl::cpu_isa::avx512_core_bf16 : dnnl::cpu_isa::avx512_core_amx_fp16;
#else
  const auto needed = dnnl::cpu_isa::avx512_core_bf16;
#endif
  if (!HasIsa(needed)) {
    Logger()(LogLevel::kWarning, "DnnlExecutionProvider runs at f32: precision {} needs {}, which oneDNN may not use here",
             option->second, option->second == "bf16" ? "AVX512-BF16 or AMX-BF16" : "AMX-FP16");
    return DataType::f32;
  }
  return option->second == "bf16" ? DataType::bf16 : DataType::f16;
}

class OnednnProvider final : public ExecutionProvider {
 public:
  OnednnProvider(DataType operand_type, Claims claims) : operand_type_(operand_type), claims_(claims) {}

  std::string_view name() const noexcept override { return kOnednnProvider; }
  const KernelRegistry& kernels() const noexcept override { return kernels_; }

  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup&,
                                               RefusalSink& refusals) const override {
    std::vector<bool> claimed;
    for (NodeIndex index : graph.nodes()) {
      const Node& node = graph.node(index);
      if (claimed.size() <= static_cast<size_t>(index)) claimed.resize(static_cast<size_t>(index) + 1);
      if (!node.provider.empty()) continue;
      std::string reason = RefusalReason(graph, node);
      claimed[static_cast<size_t>(index)] = reason.empty();
      if (!reason.empty()) refusals.Refuse(index, std::move(reason));
    }
    const Claims rule = RuleFor(graph, claimed);
    const std::vector<bool> none(claimed.size());
    const std::vector<bool> attention = CpuLowers() ? LeftAttention(graph, claimed, rule) : none;
    const std::vector<bool> tables = CpuLowers() ? FunctionsOfOneQuantized(graph) : none;
    for (NodeIndex index : graph.nodes()) {
      const auto i = static_cast<size_t>(index);
      if (!claimed[i]) continue;
      std::string reason = attention[i] ? "a part of attention, which the CPU provider computes as one"
                           : tables[i]  ? "the CPU provider looks functions of one quantized value up in a table"
                                        : WhyLeave(graph, graph.node(index), rule);
      if (reason.empty()) continue;
      claimed[static_cast<size_t>(index)] = false;
      refusals.Refuse(index, std::move(reason));
    }
    std::vector<ComputeCapability> claims;
    for (auto& region : FindRegions(graph, claimed, [&](const Node& node) { return IsAnchor(graph, node, rule); })) {
      for (NodeIndex index : region) claimed[static_cast<size_t>(index)] = false;
      const Node& first = graph.node(region.front());
      std::string name = fmt::format("dnnl_{}_{}", first.op_type, first.index);
      claims.push_back({std::move(region), true, std::move(name)});
    }
    for (NodeIndex index : graph.nodes()) {
      if (claimed[static_cast<size_t>(index)]) {
        refusals.Refuse(index,
                        "no convolution, matmul or pooling of this provider stands beside it: alone it gains nothing here");
      }
    }
    return claims;
  }

  std::vector<CompiledOperator> CompiledOperators() const override {
    std::vector<CompiledOperator> operators;
    for (const auto& family : Lowerings()) {
      for (const Lowering& lowering : family) {
        operators.push_back(
            {lowering.op_type, lowering.domain, lowering.first_version, lowering.last_version, lowering.inputs});
      }
    }
    return operators;
  }

  std::string_view PrecisionOf(const GraphViewer& graph, const Node& node) const override {
    if (operand_type_ == DataType::f32 || !RoundsOperands(graph, node)) return {};
    return operand_type_ == DataType::bf16 ? NameOf(Precision::kBFloat16) : NameOf(Precision::kFloat16);
  }

  std::vector<std::unique_ptr<Kernel>> Compile(std::span<const FusedSubgraph> subgraphs,
                                               const CompileContext& context) override {
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const FusedSubgraph& subgraph : subgraphs) {
      kernels.push_back(std::make_unique<RegionKernel>(subgraph.graph, services_, Threads(), operand_type_, context));
    }
    return kernels;
  }

 private:
  int Threads() const { return services_.threads == nullptr ? omp_get_max_threads() : services_.threads->num_threads(); }

  /// Whether the CPU provider will make one node of attention that is spelled out, and of functions of one quantized value.
  bool CpuLowers() const { return services_.graph_optimization_level >= static_cast<int>(OptimizationLevel::kExtended); }

  /// Rounded matmuls stay beside convolutions where threads would go from one to the other. `claimed`: what can be
  /// claimed.
  Claims RuleFor(const GraphViewer& graph, const std::vector<bool>& claimed) const {
    if (claims_ != Claims::kFasterRounded) return claims_;
    if (!HasTiles() && TransformsAreFaster(graph, claimed)) return Claims::kFaster;
    if (Threads() == 1) return claims_;
    const auto stays = [&](NodeIndex index) {
      const Node& node = graph.node(index);
      return claimed[static_cast<size_t>(index)] && !IsMatMul(node) && IsAnchor(graph, node, claims_) &&
             WhyLeave(graph, node, claims_).empty();
    };
    return std::any_of(graph.nodes().begin(), graph.nodes().end(), stays) ? Claims::kRounded : claims_;
  }

  KernelRegistry kernels_;
  const DataType operand_type_;
  const Claims claims_;
};

Claims ClaimsOf(const ProviderOptions& options, DataType operand_type) {
  const auto option = options.find("claims");
  if (option != options.end() && option->second == "all") return Claims::kAll;
  if (operand_type == DataType::f16) return Claims::kRounded;
  return operand_type == DataType::bf16 && (HasTiles() || HasFastAvx512Bf16()) ? Claims::kFasterRounded : Claims::kFaster;
}

}  // namespace
}  // namespace onednn

const ProviderFactory& OnednnProviderFactory() {
  static const ProviderFactory factory = {
      .name = kOnednnProvider,
      .cli_name = "dnnl",
      .options = onednn::kOptions,
      .create = [](const ProviderOptions& options) -> std::unique_ptr<ExecutionProvider> {
        if (LostInFork(ForeignThreads::kOneDnn)) {
          Fail(ErrorCode::kEpFail,
               "another thread was in oneDNN when this process was forked, whose locks it holds for ever");
        }
        onednn::CpuEngine();
        const onednn::DataType operand_type = onednn::RequestedType(options);
        return std::make_unique<onednn::OnednnProvider>(operand_type, onednn::ClaimsOf(options, operand_type));
      },
      .uses_openmp = true,
  };
  return factory;
}

}  // namespace tessera
