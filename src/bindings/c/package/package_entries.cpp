// OrtModelPackageApi: packages of models, the variants in them, and sessions of those.

#include <memory>
#include <mutex>
#include <set>

#include "base/shortened.h"
#include "bindings/c/entry.h"
#include "bindings/c/env.h"
#include "bindings/c/package/package.h"
#include "bindings/c/package/package_options.h"
#include "bindings/c/package/variant_choice.h"
#include "bindings/c/session.h"
#include "bindings/c/session_options.h"
#include "session/session_state.h"

namespace tessera::c_abi {
namespace {

/// Names as clients see them.
template <class Named>
std::vector<const char*> NamesOf(const std::vector<Named>& all) {
  std::vector<const char*> names;
  names.reserve(all.size());
  for (const Named& one : all) names.push_back(one.name.c_str());
  return names;
}

}  // namespace
}  // namespace tessera::c_abi

struct OrtModelPackageContext {
  explicit OrtModelPackageContext(const std::filesystem::path& root)
      : package(tessera::c_abi::ReadPackage(root)), components(tessera::c_abi::NamesOf(package.components)) {
    for (const tessera::c_abi::PackageComponent& component : package.components)
      variants.emplace(&component, tessera::c_abi::NamesOf(component.variants));
  }

  tessera::c_abi::Mark<OrtModelPackageContext> mark;
  const tessera::c_abi::Package package;
  const std::vector<const char*> components;
  std::map<const tessera::c_abi::PackageComponent*, std::vector<const char*>> variants;
  /// Paths that clients asked for, which they may hold as long as this.
  mutable std::mutex mutex;
  mutable std::set<std::string> paths;  // behind the mutex
};

/// A variant that was chosen. It needs neither the package nor the options any more.
struct OrtModelPackageComponentContext {
  tessera::c_abi::Mark<OrtModelPackageComponentContext> mark;
  const std::string component;
  const tessera::c_abi::PackageVariant variant;
  const tessera::ProviderRequest request;  // without a name: of the provider that is always there
};

namespace tessera::c_abi {
namespace {

const OrtModelPackageContext& Context(const OrtModelPackageContext* context) { return Given(context, "the package"); }
const OrtModelPackageComponentContext& Chosen(const OrtModelPackageComponentContext* context) {
  return Given(context, "the component");
}

const PackageComponent& ComponentOf(const OrtModelPackageContext* context, const char* name) {
  return Context(context).package.Component(&Given(name, "the component's name"));
}

void GiveNames(const std::vector<const char*>& names, const char* const** out, size_t* count) {
  Given(count, "the number");
  Given(out, "out") = names.empty() ? nullptr : names.data();
  *count = names.size();
}

const PackageVariant& VariantOf(const PackageComponent& component, std::string_view name) {
  for (const PackageVariant& variant : component.variants) {
    if (variant.name == name) return variant;
  }
  Fail(ErrorCode::kInvalidArgument, "component '{}' has no variant '{}'", component.name, name);
}

void AddEntry(OrtSessionOptions& options, const std::string& key, const std::string& value) {
  ThrowIfFailed(AddSessionConfigEntry(&options, key.c_str(), value.c_str()));
}

/// Options of the package's own, for who gives none. `left_out`: what is the program's to say.
OrtSessionOptions OptionsOfPackage(const OrtModelPackageComponentContext& chosen, OrtSessionOptions& left_out) {
  OrtSessionOptions options;
  for (const auto& [key, value] : chosen.variant.session_options)
    AddEntry(IsTaken(key, value) ? options : left_out, key, value);
  if (chosen.request.name.empty()) return options;
  ProviderRequest& request = options.core.providers.emplace_back(chosen.request);
  for (const auto& [key, value] : chosen.variant.provider_options) request.options.insert_or_assign(key, value);
  return options;
}

/// The client's, with the places of files without which the model cannot be read.
OrtSessionOptions WithPaths(const OrtSessionOptions& given, const PackageVariant& variant) {
  OrtSessionOptions options = given;
  for (const auto& [key, value] : variant.session_options) {
    if (IsPathOption(key) && !options.config.contains(key)) AddEntry(options, key, value);
  }
  return options;
}

}  // namespace

OrtStatusPtr CreateModelPackageOptionsFromSessionOptions(const OrtEnv* env, const OrtSessionOptions* session_options,
                                                         OrtModelPackageOptions** out) noexcept {
  return Guarded([&] {
    const OrtEnv& environment = Given(env, "the environment");
    const OrtSessionOptions& session = Given(session_options, "the session options");
    Give(out, [&] { return PackageOptionsOf(environment, session); });
  });
}

void ReleaseModelPackageOptions(OrtModelPackageOptions* value) { Release(value); }

OrtStatusPtr CreateModelPackageContext(const ORTCHAR_T* package_root, OrtModelPackageContext** out) noexcept {
  return Guarded([&] {
    const char* root = &Given(package_root, "the path");
    Give(out, [&] { return new OrtModelPackageContext(root); });
  });
}

void ReleaseModelPackageContext(OrtModelPackageContext* value) { Release(value); }

OrtStatusPtr ModelPackage_GetSchemaVersion(const OrtModelPackageContext* ctx, int64_t* out_version) noexcept {
  return Guarded([&] { Given(out_version, "out") = Context(ctx).package.schema_version; });
}

OrtStatusPtr ModelPackage_GetComponentCount(const OrtModelPackageContext* ctx, size_t* out_version) noexcept {
  return Guarded([&] { Given(out_version, "out") = Context(ctx).components.size(); });
}

OrtStatusPtr ModelPackage_GetComponentNames(const OrtModelPackageContext* ctx, const char* const** out_names,
                                            size_t* out_count) noexcept {
  return Guarded([&] { GiveNames(Context(ctx).components, out_names, out_count); });
}

OrtStatusPtr ModelPackage_GetVariantCount(const OrtModelPackageContext* ctx, const char* component_name,
                                          size_t* out_count) noexcept {
  return Guarded([&] { Given(out_count, "out") = ComponentOf(ctx, component_name).variants.size(); });
}

OrtStatusPtr ModelPackage_GetVariantNames(const OrtModelPackageContext* ctx, const char* component_name,
                                          const char* const** out_variant_names, size_t* out_count) noexcept {
  return Guarded(
      [&] { GiveNames(Context(ctx).variants.at(&ComponentOf(ctx, component_name)), out_variant_names, out_count); });
}

// Null where the variant names no provider.
OrtStatusPtr ModelPackage_GetVariantEpName(const OrtModelPackageContext* ctx, const char* component_name,
                                           const char* variant_name, const char** out_ep) noexcept {
  return Guarded([&] {
    const PackageComponent& component = ComponentOf(ctx, component_name);
    const PackageVariant& variant = VariantOf(component, &Given(variant_name, "the variant's name"));
    Given(out_ep, "out") = variant.provider ? variant.provider->c_str() : nullptr;
  });
}

OrtStatusPtr ModelPackage_ResolveStringRef(const OrtModelPackageContext* ctx, const char* base_dir, const char* input,
                                           int must_exist, const char** out_path) noexcept {
  return Guarded([&] {
    const OrtModelPackageContext& context = Context(ctx);
    const PackagePlaces& places = context.package.places;
    const std::string base = TextOf(base_dir);
    const char* text = &Given(input, "the reference");
    Give(out_path, [&] {
      std::string path = places.Resolve(base.empty() ? places.root : std::filesystem::path(base), text, must_exist != 0);
      const std::lock_guard lock(context.mutex);
      return context.paths.insert(std::move(path)).first->c_str();
    });
  });
}

OrtStatusPtr SelectComponent(const OrtModelPackageContext* ctx, const char* component_name,
                             const OrtModelPackageOptions* options, OrtModelPackageComponentContext** out) noexcept {
  return Guarded([&] {
    const PackageComponent& component = ComponentOf(ctx, component_name);
    const OrtModelPackageOptions& given = Given(options, "the package options");
    Give(out, [&] {
      return new OrtModelPackageComponentContext{
          {}, component.name, ChooseVariant(Context(ctx).package.places, component, given), given.request};
    });
  });
}

void ReleaseModelPackageComponentContext(OrtModelPackageComponentContext* value) { Release(value); }

OrtStatusPtr ModelPackageComponent_GetSelectedVariantName(const OrtModelPackageComponentContext* ctx,
                                                          const char** out_name) noexcept {
  return Guarded([&] { Given(out_name, "out") = Chosen(ctx).variant.name.c_str(); });
}

OrtStatusPtr ModelPackageComponent_GetSelectedVariantFolderPath(const OrtModelPackageComponentContext* ctx,
                                                                const ORTCHAR_T** folder_path) noexcept {
  return Guarded([&] { Given(folder_path, "out") = Chosen(ctx).variant.folder.c_str(); });
}

OrtStatusPtr CreateSession(const OrtEnv* env, const OrtModelPackageComponentContext* ctx,
                           const OrtSessionOptions* session_options, OrtSession** session) noexcept {
  return Guarded([&] {
    const OrtModelPackageComponentContext& chosen = Chosen(ctx);
    const PackageVariant& variant = chosen.variant;
    if (variant.model.empty())
      Fail(ErrorCode::kFail, "variant '{}' of component '{}' names no model", variant.name, chosen.component);
    OrtSessionOptions left_out;
    const OrtSessionOptions options = session_options == nullptr
                                          ? OptionsOfPackage(chosen, left_out)
                                          : WithPaths(Given(session_options, "the session options"), variant);
    ThrowIfFailed(CreateSession(env, variant.model.c_str(), &options, session));
    for (const auto& [key, value] : left_out.config) {
      (*session)->loaded().state()->log(LogLevel::kWarning,
                                        "the package sets '{}' to '{}', which is for the program to do: it has no effect",
                                        key, Shortened(value));
    }
  });
}

}  // namespace tessera::c_abi
