#include "fs/cli/copy_to_zip.h"

#include <algorithm>

#include "codec/array/document_names.h"
#include "codec/json/parser.h"
#include "store/object/log.h"
#include "store/source/document_names.h"
#include "store/source/source.h"
#include "store/source/zip_place.h"

namespace unshard {
namespace {

bool IsOmeZarr(const std::string& text) {
  const auto document = ParseJson(text);
  const JsonValue* attributes = document ? document->Find("attributes") : nullptr;
  return attributes != nullptr && attributes->is_object() && attributes->Find("ome") != nullptr;
}

}  // namespace

bool IsZipDestination(const CopyCommand& command) {
  const auto name = ParseNamedSource(command.create.destination);
  return name && NamesZip(*name);
}

Status CheckZipDestination(const CopyCommand& command) {
  const std::string& given = command.create.destination;
  UNSHARD_ASSIGN_OR_RETURN(const NamedSource name, ParseNamedSource(given));
  if (IsUrl(name.place)) {
    return Fail(ErrorCode::kInvalidArgument, ShownUrl(name.place),
                ": archives are written to files of this machine; copy to one, then upload it");
  }
  if (name.inside_zip || !HasZipName(name.place)) {
    return Fail(ErrorCode::kInvalidArgument, given,
                ": archives are written whole; expected a name that ends with .ozx or .zip");
  }
  return ZipOutput::Check(name.place, command.replaces);
}

std::string FormatInZip(const CopyCommand& command, const OpenedDataset& source) {
  const bool is_described = DescribesNewDataset(command.create);
  const Dialect dialect = source.datasets().front().source.dataset.dialect;
  if (is_described || !HasOzxName(command.create.destination) || dialect == Dialect::kZarr3) {
    return command.create.format;
  }
  return std::string(DialectName(Dialect::kZarr3));
}

Status CheckZipDocuments(const CopyCommand& command, const std::vector<NewDocument>& documents) {
  const std::string& destination = command.create.destination;
  if (!HasOzxName(destination)) return {};
  const auto root =
      std::find_if(documents.begin(), documents.end(),
                   [](const NewDocument& document) { return document.path == kZarrDocument; });
  if (root == documents.end()) {
    return Fail(ErrorCode::kInvalidArgument, destination, ": an .ozx archive has a ",
                std::string(kZarrDocument),
                " at its root (RFC-9); add --format zarr3, or let its name end with .zip");
  }
  if (!IsOmeZarr(root->text)) {
    LogWarning(destination +
               ": its root is no OME-Zarr, as RFC-9 demands of an .ozx archive; a name that ends "
               "with .zip promises nothing");
  }
  return {};
}

Result<std::unique_ptr<ZipOutput>> BeginZip(const CopyCommand& command, const OpenedDataset& source,
                                            const std::set<std::string>& excluded,
                                            const std::vector<NewDocument>& documents) {
  std::string work = source.Describe();
  for (const std::string& path : excluded) work += "\nwithout " + path;
  for (const NewDocument& document : documents) {
    work += '\n' + document.path + '\n' + document.text;
  }
  UNSHARD_ASSIGN_OR_RETURN(const NamedSource name, ParseNamedSource(command.create.destination));
  return ZipOutput::Begin(name.place, work, command.replaces);
}

}  // namespace unshard
