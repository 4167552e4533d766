#include "session/context/provenance_bytes.h"

#include <memory>
#include <utility>

#include "base/load_limits.h"
#include "graph/provenance.h"

namespace tessera {
namespace {

void PutTexts(const std::vector<std::string>& texts, ByteWriter& out) {
  out.Put<uint64_t>(texts.size());
  for (const std::string& text : texts) out.PutText(text);
}

std::vector<std::string> GetTexts(ByteReader& in) {
  std::vector<std::string> texts(in.GetCount(sizeof(uint64_t)));
  for (std::string& text : texts) text = in.GetText();
  return texts;
}

/// What an entry has at least: three numbers of four bytes, three of one or two, the lengths of four texts.
constexpr size_t kLeastBytes = 3 * 4 + 4 + 4 * 8;

}  // namespace

void WriteProvenance(const Graph& graph, ByteWriter& out) {
  static const Provenance none;
  const Provenance& provenance = graph.provenance() == nullptr ? none : *graph.provenance();
  out.Put<uint64_t>(provenance.graphs().size());
  for (const Provenance::Nested& graph : provenance.graphs()) {
    out.PutText(graph.path);
    out.Put(graph.holder);
  }
  PutTexts(provenance.passes(), out);
  out.Put<uint64_t>(provenance.origins().size());
  for (const Provenance::Origin& origin : provenance.origins()) {
    out.Put(origin.graph);
    out.Put(origin.since_version);
    out.Put(origin.into);
    out.Put(origin.fate);
    out.Put<uint8_t>(origin.certain);
    out.Put(origin.pass);
    for (const std::string* text : {&origin.name, &origin.op_type, &origin.domain, &origin.output}) out.PutText(*text);
  }
}

void ReadProvenance(ByteReader& in, Graph& graph) {
  std::vector<Provenance::Nested> graphs(in.GetCount(sizeof(uint64_t) + sizeof(int32_t)));
  for (Provenance::Nested& nested : graphs) {
    nested.path = in.GetText();
    nested.holder = in.Get<int32_t>();
  }
  std::vector<std::string> passes = GetTexts(in);
  std::vector<Provenance::Origin> origins(in.GetCount(kLeastBytes));
  for (Provenance::Origin& origin : origins) {
    graph.limits().Check();
    origin.graph = in.Get<int32_t>();
    origin.since_version = in.Get<int32_t>();
    origin.into = in.Get<int32_t>();
    origin.fate = in.GetEnum(NodeFate::kEnd);
    origin.certain = in.GetFlag();
    origin.pass = in.Get<uint16_t>();
    for (std::string* text : {&origin.name, &origin.op_type, &origin.domain, &origin.output}) *text = in.GetText();
    const bool good = static_cast<uint32_t>(origin.graph) < graphs.size() &&
                      (origin.fate == NodeFate::kNone || origin.pass < passes.size()) &&
                      (origin.fate != NodeFate::kFused || static_cast<uint32_t>(origin.into) < origins.size());
    if (!good) ByteReader::Damaged();
    graph.Charge(sizeof(origin) + origin.name.size() + origin.output.size());
  }
  for (const Provenance::Nested& nested : graphs) {
    if (nested.holder != kNone && static_cast<uint32_t>(nested.holder) >= origins.size()) ByteReader::Damaged();
  }
  if (origins.empty()) return;
  const auto provenance = std::make_shared<Provenance>();
  provenance->Restore(std::move(origins), std::move(graphs), std::move(passes));
  graph.set_provenance(provenance);
}

}  // namespace tessera
