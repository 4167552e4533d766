#pragma once

// A node's run as kernels and compiled graphs of clients see it.

#include <memory>
#include <span>

#include "base/small_array.h"
#include "bindings/c/logger.h"
#include "bindings/c/value.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/provider/kernel.h"

/// Lives as long as one Compute.
struct OrtKernelContext {
  /// `its_inputs`: all of them, null where one is omitted, instead of the context's own. `its_indices`: of each output,
  /// which of the context's it is, -1 where nobody reads it. `its_types`: undefined where one is omitted, or not known.
  OrtKernelContext(tessera::KernelContext& its_context, std::span<const tessera::Value* const> its_inputs,
                   std::span<const int32_t> its_indices, std::span<const tessera::ElementType> its_types,
                   const OrtLogger& its_logger, OrtSyncStream* its_stream)
      : context(its_context),
        inputs(its_inputs),
        indices(its_indices),
        types(its_types),
        logger(its_logger),
        stream(its_stream),
        outputs(its_indices.size()) {}

  tessera::KernelContext& context;
  const std::span<const tessera::Value* const> inputs;
  const std::span<const int32_t> indices;
  const std::span<const tessera::ElementType> types;
  const OrtLogger& logger;
  OrtSyncStream* const stream;                // null: none
  std::span<const int32_t> aliases;           // of each output, the input that it begins as, -1: none; empty: of no output
  tessera::DataTransfer* transfer = nullptr;  // of the kernel's memory; null: that is the host's
  tessera::SmallArray<OrtValue, 8> outputs;   // views of those that were asked for
};
