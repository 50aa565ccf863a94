#include "fs/cli/create_command.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "codec/json/writer.h"
#include "codec/pyramid/dataset_view.h"
#include "codec/schema/copied_documents.h"
#include "codec/schema/new_dataset.h"
#include "fs/cli/copy_destination.h"
#include "fs/cli/mount_command.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/source.h"

namespace unshard {
namespace {

std::vector<NewDocument> TextsOf(const std::vector<MetadataDocument>& made) {
  std::vector<NewDocument> documents;
  for (const MetadataDocument& one : made) {
    documents.push_back({one.path(), WriteJson(one.content) + "\n"});
  }
  return documents;
}

Result<std::vector<NewDocument>> NewDocuments(const CreateCommand& command) {
  const std::string name = FormatNameOf(command);
  if (name.empty()) {
    return WrongOption("--format", "expected precomputed, zarr3, zarr2 or n5, or --like SOURCE");
  }
  UNSHARD_ASSIGN_OR_RETURN(const Dialect format, FormatOf(name));
  UNSHARD_ASSIGN_OR_RETURN(const OmeVersion* ome, OmeVersionOf(command, format));
  if (ome != nullptr && command.scales == 1) {
    return WrongOption("--ome", "expected --scales 2 or more: only a pyramid is OME-Zarr");
  }
  UNSHARD_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(command, format));
  UNSHARD_ASSIGN_OR_RETURN(const NewScales scales, ScalesOf(command, format));
  const auto made = NewDataset(format, schema, scales, ome);
  if (!made) return InWordsOfOptions(command, made.error());
  return TextsOf(*made);
}

// Whether an option says what --like takes from the other dataset.
bool DescribesDataset(const CreateCommand& command) {
  const bool lists = !command.shape.empty() || !command.offset.empty() || !command.chunk.empty() ||
                     !command.shard.empty() || !command.axes.empty() ||
                     !command.resolution.empty() || !command.factors.empty();
  return lists || !command.schema.empty() || !command.dtype.empty() || !command.codec.empty() ||
         !command.fill.empty() || command.scales != 1 || !command.ome.empty();
}

Result<std::vector<NewDocument>> DocumentsLike(const std::string& source) {
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(source, options));
  options.read_only = true;
  UNSHARD_ASSIGN_OR_RETURN(const SourceParts parts, OpenSource(options, nullptr));
  return ReadDocuments(*parts.store, CallerDeadline());
}

// The names of the axes of its arrays, as lists of the format have them; "": without a name.
std::vector<std::string> AxisNames(const SourceDataset& dataset, Dialect format) {
  const Array& array = dataset.levels.front().array;
  std::vector<std::string> names(array.rank());
  const auto geometry = ReadGeometry(dataset);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (geometry && geometry->axes.size() == names.size()) {
      names[i] = geometry->axes[i].name;
    } else if (i < array.axis_names.size()) {
      names[i] = array.axis_names[i].value_or("");
    }
  }
  if (format == Dialect::kN5) std::reverse(names.begin(), names.end());
  return names;
}

// A list of the axes `of`, for the axes `names`; nothing where one of these is not among the
// others.
std::optional<std::vector<std::string>> PickAxes(const std::vector<std::string>& list,
                                                 const std::vector<std::string>& of,
                                                 const std::vector<std::string>& names) {
  std::vector<std::string> picked;
  for (const std::string& name : names) {
    const auto found = std::find(of.begin(), of.end(), name);
    if (name.empty() || found == of.end()) return std::nullopt;
    picked.push_back(list[static_cast<std::size_t>(found - of.begin())]);
  }
  return picked;
}

// Labels of an image may lack its channels. A list with one item for each axis of another dataset
// means the axes of the same names in this one. Precomputed volumes all have the same axes.
CreateCommand ForAxesOf(const SourceDataset& dataset, const CreateCommand& command, Dialect format,
                        const std::vector<DatasetMember>& all) {
  CreateCommand adapted = command;
  if (format == Dialect::kPrecomputed) return adapted;
  const std::vector<std::string> names = AxisNames(dataset, format);
  for (std::vector<std::string>* list : {&adapted.chunk, &adapted.shard}) {
    if (list->empty() || list->size() == names.size()) continue;
    for (const DatasetMember& other : all) {
      const std::vector<std::string> of = AxisNames(other.source.dataset, format);
      if (of.size() != list->size()) continue;
      if (auto picked = PickAxes(*list, of, names)) *list = *std::move(picked);
      break;
    }
  }
  return adapted;
}

// A copy takes from its source what the dataset is, unless the options say all of it.
Status ExpectNothingOfSource(const CreateCommand& command, const Schema& schema) {
  const char* option = schema.dtype != nullptr           ? "--dtype"
                       : schema.fill_value.has_value()   ? "--fill"
                       : !schema.dimension_units.empty() ? "--resolution"
                       : command.scales != 1             ? "--scales"
                       : !command.factors.empty()        ? "--factor"
                       : !command.axes.empty()           ? "--axes"
                       : !command.offset.empty()         ? "--offset"
                                                         : nullptr;
  if (option == nullptr) return {};
  return WrongOption(option,
                     "cannot be changed by a copy: leave it out, or give --shape as well, "
                     "to describe all of the destination");
}

// The documents of a copy of a group.
class GroupDocuments {
 public:
  GroupDocuments(const CreateCommand& command, Dialect format, const OmeVersion* ome)
      : command_(command), format_(format), ome_(ome) {}

  // Leaves a dataset that the format cannot say out of `source`, with all below it, unless nothing
  // else is there.
  Status AddDatasets(OpenedDataset& source) {
    const std::vector<DatasetMember> datasets = source.datasets();
    for (const DatasetMember& dataset : datasets) {
      const auto is_above = [&](const SkippedMember& skipped) {
        return IsAtOrBelow(dataset.path, skipped.path);
      };
      if (std::ranges::any_of(source.members().skipped, is_above)) continue;
      const SourceDataset& described = dataset.source.dataset;
      auto documents =
          DocumentsFor(ForAxesOf(described, command_, format_, datasets), described, dataset.path);
      if (documents) {
        Add(dataset.path, *std::move(documents));
      } else {
        UNSHARD_RETURN_IF_ERROR(LeaveOut(source, dataset.path, std::move(documents).error()));
      }
    }
    return {};
  }

  // Those of the source, and those above its datasets: Zarr wants a document in each group.
  Status AddGroups(const OpenedDataset& source) {
    for (const DatasetMember& group : source.members().groups) {
      UNSHARD_RETURN_IF_ERROR(AddGroup(group.path, group.source.dataset));
    }
    SourceDataset plain;
    plain.dialect = format_;
    for (const DatasetMember& dataset : source.datasets()) {
      for (std::string above = dataset.path; !above.empty();) {
        above = ParentPath(above);
        if (!directories_.contains(above)) UNSHARD_RETURN_IF_ERROR(AddGroup(above, plain));
      }
    }
    return {};
  }

  std::vector<NewDocument> Take() && { return std::move(all_); }

 private:
  void Add(const std::string& path, std::vector<NewDocument> documents) {
    for (NewDocument& document : documents) {
      document.path = JoinPath(path, document.path);
      // A group between an image and its levels may be a group of the source as well.
      const auto [place, is_first] = places_.try_emplace(document.path, all_.size());
      if (is_first) all_.emplace_back();
      all_[place->second] = std::move(document);
    }
    directories_.insert(path);
  }

  Status AddGroup(const std::string& path, const SourceDataset& group) {
    UNSHARD_ASSIGN_OR_RETURN(const auto made,
                             DocumentsOfCopy(group, format_, std::nullopt, nullptr, ome_));
    Add(path, TextsOf(made));
    return {};
  }

  static Status LeaveOut(OpenedDataset& source, const std::string& path, Error why) {
    const bool has_others = std::ranges::any_of(
        source.datasets(), [&](const DatasetMember& one) { return !IsAtOrBelow(one.path, path); });
    if (why.code == ErrorCode::kNotSupported && has_others) {
      source.LeaveOut(path, std::move(why).Annotate(source.store()->Describe(path)));
      return {};
    }
    // "--chunk 8,8: labels: …"
    const std::size_t at = why.message.starts_with("--") ? why.message.find(": ") + 2 : 0;
    if (!path.empty()) why.message.insert(at, path + ": ");
    return tl::unexpected<Error>(std::move(why));
  }

  const CreateCommand& command_;
  const Dialect format_;
  const OmeVersion* const ome_;
  std::vector<NewDocument> all_;
  std::map<std::string, std::size_t> places_;  // in all_, by path
  std::set<std::string> directories_;
};

}  // namespace

bool DescribesNewDataset(const CreateCommand& command) {
  return !command.format.empty() || !command.like.empty() || DescribesDataset(command);
}

Result<std::vector<NewDocument>> DescribedDocuments(const CreateCommand& command) {
  if (command.like.empty()) return NewDocuments(command);
  if (!DescribesDataset(command)) return DocumentsLike(command.like);
  return WrongOption("--like",
                     "copies all metadata of the other dataset: leave out the other options");
}

Result<std::vector<NewDocument>> DocumentsFor(const CreateCommand& command,
                                              const SourceDataset& source, const std::string& path,
                                              const std::string& shown) {
  if (!command.like.empty() || command.format.empty()) return DescribedDocuments(command);
  UNSHARD_ASSIGN_OR_RETURN(const Dialect format, FormatOf(command.format));
  CreateCommand sized = command;
  sized.item_size = source.levels.front().array.data_type.size;
  UNSHARD_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(sized, format));
  const bool describes = !command.shape.empty() || !command.schema.empty();
  if (schema.domain && describes) return DescribedDocuments(command);
  UNSHARD_RETURN_IF_ERROR(ExpectNothingOfSource(command, schema));
  const bool stores =
      !command.chunk.empty() || !command.shard.empty() || schema.codec || !command.schema.empty();
  std::vector<std::string> warnings;
  UNSHARD_ASSIGN_OR_RETURN(const OmeVersion* ome, OmeVersionOf(command, format));
  const auto made = DocumentsOfCopy(source, format, stores ? std::optional(schema) : std::nullopt,
                                    &warnings, ome);
  if (!made) return InWordsOfOptions(command, made.error());
  for (std::string& warning : warnings) {
    const std::string made_at = ShownSource(command.destination);
    warning =
        WithWayOut(std::move(warning), source, shown, "copy", "DEST --format " + command.format);
    LogWarning((path.empty() ? made_at : JoinPath(made_at, path)) + ": " + warning);
  }
  return TextsOf(*made);
}

Result<std::vector<NewDocument>> DocumentsForGroup(const CreateCommand& command,
                                                   OpenedDataset& source) {
  if (!command.like.empty() || command.format.empty()) return DescribedDocuments(command);
  UNSHARD_ASSIGN_OR_RETURN(const Dialect format, FormatOf(command.format));
  CreateCommand sized = command;
  sized.item_size = source.datasets().front().source.dataset.levels.front().array.data_type.size;
  UNSHARD_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(sized, format));
  if (schema.domain) {
    return WrongOption("--shape", "the source has several datasets (" +
                                      source.datasets().back().path +
                                      " is one), which keep their own shapes");
  }
  UNSHARD_ASSIGN_OR_RETURN(const OmeVersion* ome, OmeVersionOf(command, format));
  GroupDocuments documents(command, format, ome);
  UNSHARD_RETURN_IF_ERROR(documents.AddDatasets(source));
  // Only volumes have a document in precomputed.
  if (format != Dialect::kPrecomputed) UNSHARD_RETURN_IF_ERROR(documents.AddGroups(source));
  return std::move(documents).Take();
}

Result<std::vector<LevelPlace>> LevelPlacesFor(const CreateCommand& command,
                                               const OpenedDataset& source) {
  std::vector<LevelPlace> places;
  if (!command.like.empty() || command.format.empty()) return places;
  if (!command.shape.empty() || !command.schema.empty()) return places;
  UNSHARD_ASSIGN_OR_RETURN(const Dialect format, FormatOf(command.format));
  for (const DatasetMember& dataset : source.datasets()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto levels, LevelsOfCopy(dataset.source.dataset, format));
    for (const std::string& level : levels) {
      places.push_back({dataset.path, ResolvePath(dataset.path, level).value_or(level)});
    }
  }
  return places;
}

int RunCreate(const CreateCommand& command) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto wrong = [](const Error& error) {
    ReportFailure(error);
    return error.code == ErrorCode::kInvalidArgument ? kWrongArguments : 1;
  };
  if (const auto named = CopyPlaceOf(command.destination); !named) return wrong(named.error());
  auto documents = DescribedDocuments(command);
  if (!documents) return wrong(documents.error());
  const Status created = CreateDataset(command.destination, *std::move(documents));
  return created ? 0 : ReportFailure(created.error());
}

}  // namespace unshard
