// What stands for operators and image formats whose libraries this build was configured without: it says so. A node is
// refused when the session is made; of an image only a run sees the format.

#include <memory>
#include <string_view>

#include "base/check.h"
#include "cpu/ops/image/image_decoder.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

struct Library {
  std::string_view name, option;  // CMake's
};

[[maybe_unused]] constexpr Library kRe2{"re2", "TESSERA_RE2"};
[[maybe_unused]] constexpr Library kUtf8proc{"utf8proc", "TESSERA_UTF8PROC"};
[[maybe_unused]] constexpr Library kJpeg{"libjpeg", "TESSERA_JPEG"};
[[maybe_unused]] constexpr Library kPng{"libpng", "TESSERA_PNG"};
[[maybe_unused]] constexpr Library kTiff{"libtiff", "TESSERA_TIFF"};
[[maybe_unused]] constexpr Library kWebp{"libwebp", "TESSERA_WEBP"};
[[maybe_unused]] constexpr Library kOpenjpeg{"OpenJPEG", "TESSERA_OPENJPEG"};

[[noreturn, maybe_unused]] void Refuse(const Library& missing, std::string_view what) {
  Fail(ErrorCode::kNotImplemented, "this build has no {}, which {} needs: it was configured without ({})", missing.name,
       what, missing.option);
}

/// Stands for a kernel of any types.
template <const Library& kMissing>
std::unique_ptr<Kernel> RefuseNode(const KernelInfo& info) {
  Refuse(kMissing, info.node().op_type);
}

}  // namespace

#ifdef TESSERA_NO_RE2
void RegisterRegexFullMatch(KernelRegistry& registry) { registry.Add(Op("RegexFullMatch").Factory(RefuseNode<kRe2>)); }
#endif
#ifdef TESSERA_NO_UTF8PROC
void RegisterStringNormalizer(KernelRegistry& registry) {
  registry.Add(Op("StringNormalizer").Factory(RefuseNode<kUtf8proc>));
}
#endif
#if defined(TESSERA_NO_RE2)
void RegisterTokenizer(KernelRegistry& registry) {
  registry.Add(Op("Tokenizer", "com.microsoft").Factory(RefuseNode<kRe2>));
}
#elif defined(TESSERA_NO_UTF8PROC)
void RegisterTokenizer(KernelRegistry& registry) {
  registry.Add(Op("Tokenizer", "com.microsoft").Factory(RefuseNode<kUtf8proc>));
}
#endif

#ifdef TESSERA_NO_JPEG
bool DecodeJpeg(ImageBytes, DecodedImage&) { Refuse(kJpeg, "a JPEG"); }
#endif
#ifdef TESSERA_NO_PNG
bool DecodePng(ImageBytes, DecodedImage&) { Refuse(kPng, "a PNG"); }
#endif
#ifdef TESSERA_NO_TIFF
bool DecodeTiff(ImageBytes, DecodedImage&) { Refuse(kTiff, "a TIFF"); }
#endif
#ifdef TESSERA_NO_WEBP
bool DecodeWebp(ImageBytes, DecodedImage&) { Refuse(kWebp, "a WebP image"); }
#endif
#ifdef TESSERA_NO_OPENJPEG
bool DecodeJpeg2000(ImageBytes, DecodedImage&) { Refuse(kOpenjpeg, "a JPEG 2000 image"); }
#endif

}  // namespace tessera::cpu
