#include "maxkernel/llm/edit.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/llm/edit_checks.h"
#include "lib/llm/file_text.h"
#include "lib/llm/reply_parser.h"
#include "lib/llm/text_lines.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace {

using internal::ToAbsl;
using llm::EditBlock;
using llm::FileText;
using llm::SearchMatch;
using llm::WholeFile;

// What every candidate's entry file defines (docs/reference/task-format.md).
constexpr std::string_view kEntryFunction = "computation";

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  return text;
}

std::string KnownFiles(const Candidate& candidate) {
  return absl::StrJoin(candidate.files(), ", ", [](std::string* out, const SourceFile& file) { absl::StrAppend(out, file.path); });
}

std::string LineNumbers(const std::vector<std::size_t>& places) {
  return absl::StrJoin(places, ", ", [](std::string* out, std::size_t place) { absl::StrAppend(out, place + 1); });
}

bool DefinesEntryFunction(std::string_view text) {
  for (const std::string_view line : llm::SplitLines(text)) {
    for (const std::string_view start : {"def ", ""}) {
      if (!line.starts_with(start) || !line.substr(start.size()).starts_with(kEntryFunction)) continue;
      const std::string_view rest = llm::TrimBlanks(line.substr(start.size() + kEntryFunction.size()));
      if (rest.starts_with(start.empty() ? '=' : '(')) return true;
    }
  }
  return false;
}

// Applies edits to copies of a candidate's files, and gathers what fails.
class Applier {
 public:
  explicit Applier(const Candidate& parent) : parent_(parent) {
    for (const SourceFile& file : parent.files()) texts_.emplace(file.path, std::vector<FileText>{FileText(file.text)});
  }

  void Apply(const EditBlock& block) {
    const std::string file = Resolve(block.file);
    const auto fail = [&](std::string reason) {
      failures.push_back({.block = block.number, .reason = std::move(reason), .file = file.empty() ? block.file : file, .search = Join(block.search)});
    };
    if (file.empty()) return fail(UnknownFile(block.file));
    if (block.search == block.replace) return fail("SEARCH and REPLACE are the same: it changes nothing");
    std::vector<FileText>& versions = texts_.at(file);
    const FileText& current = versions.back();
    if (block.search.empty() && current.size() > 0) return fail("the SEARCH text is empty: quote the lines to replace");
    SearchMatch match = block.search.empty() ? SearchMatch{.kind = SearchMatch::Kind::kUnique, .places = {0}} : FindLines(current, block.search);
    if (match.kind == SearchMatch::Kind::kNone) return fail(WhyNotFound(block, file));
    if (match.kind == SearchMatch::Kind::kAmbiguous) {
      return fail(absl::StrCat("the SEARCH text is not unique, it matches at lines ", LineNumbers(match.places),
                               ": add lines until it matches one place"));
    }
    if (std::string omission = llm::FindOmission(block.replace, current.ToString()); !omission.empty()) return fail(Omission(omission));
    std::vector<std::string> lines = block.replace;
    if (!llm::ShiftIndent(match, lines)) return fail("the SEARCH text has more indent than the file, and REPLACE does not: copy the file's indent");
    FileText next = current;
    next.Replace(match.places.front(), block.search.size(), lines);
    versions.push_back(std::move(next));
    editors_[file].push_back(block.number);
  }

  void Apply(const std::vector<WholeFile>& files) {
    for (const WholeFile* file : ChooseFiles(files)) {
      const std::string path = Resolve(file->file);
      const auto fail = [&](std::string reason) { failures.push_back({.block = file->number, .reason = std::move(reason), .file = path}); };
      if (path.empty()) {
        fail(UnknownFile(file->file));
        continue;
      }
      const SourceFile& old = FileAt(path);
      const std::string text = Join(file->lines);
      if (path == parent_.entry().path && DefinesEntryFunction(old.text) && !DefinesEntryFunction(text)) {
        fail(absl::StrCat("the fenced block does not define ", std::string(kEntryFunction),
                          "(...): send the whole file, or use SEARCH/REPLACE blocks"));
        continue;
      }
      if (std::string omission = llm::FindOmission(file->lines, old.text); !omission.empty()) {
        fail(Omission(omission));
        continue;
      }
      FileText next(old.text);
      next.Replace(0, next.size(), file->lines);
      texts_.at(path).push_back(std::move(next));
      editors_[path].push_back(file->number);
    }
  }

  // The edited candidate; null, with a failure, for edits that amount to nothing or go where they must not.
  std::shared_ptr<const Candidate> Finish() {
    std::vector<SourceFile> files;
    for (const SourceFile& old : parent_.files()) {
      files.push_back({old.path, texts_.at(old.path).back().ToString()});
      if (std::string fault = llm::CheckEvolveRegions(old.text, files.back().text); !fault.empty()) {
        failures.push_back({.block = LastEditor(old.path), .reason = std::move(fault), .file = old.path});
      }
    }
    if (!failures.empty()) return nullptr;
    absl::StatusOr<Candidate> candidate = Candidate::Create(std::move(files));
    if (!candidate.ok()) {
      failures.push_back({.reason = std::string(candidate.status().message())});
      return nullptr;
    }
    if (candidate->content_hash() == parent_.content_hash()) {
      failures.push_back({.reason = "the edits change nothing"});
      return nullptr;
    }
    return std::make_shared<const Candidate>(*std::move(candidate));
  }

  std::vector<EditFailure> failures;

 private:
  // The candidate's path that a reply means; "" if there is none.
  std::string Resolve(const std::string& named) const {
    if (named.empty()) return parent_.files().size() == 1 ? parent_.entry().path : "";
    return texts_.contains(named) ? named : "";
  }

  std::string UnknownFile(const std::string& named) const {
    if (named.empty()) return absl::StrCat("it names no file: put one of ", KnownFiles(parent_), " on a line before it");
    return absl::StrCat("there is no file \"", named, "\": expected one of ", KnownFiles(parent_));
  }

  static std::string Omission(const std::string& line) {
    return absl::StrCat("the line \"", line, "\" stands for code that was left out: write all code in full");
  }

  const SourceFile& FileAt(const std::string& path) const {
    return *std::find_if(parent_.files().begin(), parent_.files().end(), [&](const SourceFile& file) { return file.path == path; });
  }

  std::size_t LastEditor(const std::string& path) const {
    const auto found = editors_.find(path);
    return found == editors_.end() ? 0 : found->second.back();
  }

  std::string WhyNotFound(const EditBlock& block, const std::string& file) const {
    const std::vector<FileText>& versions = texts_.at(file);
    // versions[i] is what the i-th applied edit of this file left.
    for (std::size_t i = versions.size() - 1; i-- > 0;) {
      if (FindLines(versions[i], block.search).kind == SearchMatch::Kind::kNone) continue;
      return absl::StrCat("edit block ", editors_.at(file)[i], " has changed the text that it searches for");
    }
    if (!block.replace.empty() && FindLines(versions.back(), block.replace).kind == SearchMatch::Kind::kUnique) {
      return "the SEARCH text matches nothing, but the REPLACE text is already there";
    }
    const std::string lookalike = llm::FindLookalike(block.search, versions.back().ToString());
    return absl::StrCat("the SEARCH text matches nothing in ", file, lookalike.empty() ? "" : absl::StrCat("; it has ", lookalike));
  }

  // The fenced blocks that are files: those that name one; else the only one, or the only one that defines the entry function.
  std::vector<const WholeFile*> ChooseFiles(const std::vector<WholeFile>& files) {
    std::vector<const WholeFile*> chosen;
    for (const WholeFile& file : files) {
      if (!file.file.empty()) chosen.push_back(&file);
    }
    if (!chosen.empty() || files.empty()) return chosen;
    if (files.size() == 1) return {&files.front()};
    for (const WholeFile& file : files) {
      if (DefinesEntryFunction(Join(file.lines))) chosen.push_back(&file);
    }
    if (chosen.size() == 1) return chosen;
    failures.push_back({.reason = absl::StrCat("the reply has ", files.size(), " fenced blocks, and ", chosen.size(), " of them define ",
                                               std::string(kEntryFunction), ": name the file on the line before the one that is meant")});
    return {};
  }

  const Candidate& parent_;
  std::map<std::string, std::vector<FileText>> texts_;          // by path: the parent's and one per applied edit
  std::map<std::string, std::vector<std::size_t>> editors_;  // by path: the blocks that made those versions
};

std::string WhyNoEdit(std::string_view reply) {
  if (reply.find("&lt;&lt;&lt;&lt;&lt;") != std::string_view::npos) {
    return "no edit found: the markers are HTML-escaped (&lt;), write them as they are";
  }
  if (reply.find("\n@@") != std::string_view::npos || reply.find("*** Begin Patch") != std::string_view::npos) {
    return "no edit found: patches and unified diffs are not understood, use SEARCH/REPLACE blocks";
  }
  return "no edit found: the reply has neither a SEARCH/REPLACE block nor a fenced file";
}

}  // namespace

EditResult ApplyReply(const Candidate& parent, std::string_view reply) {
  llm::ParsedReply parsed = llm::ParseReply(reply);
  EditResult result{.candidate = nullptr, .failures = std::move(parsed.failures), .rationale = std::move(parsed.rationale)};
  if (result.failures.empty() && parsed.blocks.empty() && parsed.files.empty()) {
    result.failures.push_back({.reason = WhyNoEdit(reply)});
    return result;
  }
  Applier applier(parent);
  for (const EditBlock& block : parsed.blocks) applier.Apply(block);
  if (result.failures.empty() || parsed.blocks.empty()) applier.Apply(parsed.files);
  const bool is_well_formed = result.failures.empty();
  std::shared_ptr<const Candidate> candidate = is_well_formed && applier.failures.empty() ? applier.Finish() : nullptr;
  result.failures.insert(result.failures.end(), applier.failures.begin(), applier.failures.end());
  std::stable_sort(result.failures.begin(), result.failures.end(), [](const EditFailure& a, const EditFailure& b) { return a.block < b.block; });
  result.candidate = std::move(candidate);
  return result;
}

}  // namespace maxkernel
