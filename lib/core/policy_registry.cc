#include "maxkernel/policy_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace {

template <typename Entries, typename Factory>
absl::Status Add(Entries& entries, std::string_view kind, std::string name, std::string help, Factory factory) {
  if (entries.contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat(std::string(kind), " policy '", name, "': the name is taken"));
  }
  entries.emplace(std::move(name), typename Entries::mapped_type{std::move(help), std::move(factory)});
  return absl::OkStatus();
}

template <typename Entries>
auto Make(const Entries& entries, std::string_view kind, const PolicySpec& spec)
    -> decltype(entries.begin()->second.factory(spec)) {
  const auto found = entries.find(spec.name);
  if (found != entries.end()) return found->second.factory(spec);
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries) names.push_back(name);
  return absl::NotFoundError(absl::StrCat(std::string(kind), " policy '", spec.name, "': unknown; known are ",
                                          absl::StrJoin(names, ", "), internal::DidYouMean(spec.name, names)));
}

template <typename Entries>
std::vector<std::pair<std::string, std::string>> List(const Entries& entries) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto& [name, entry] : entries) list.emplace_back(name, entry.help);
  return list;
}

}  // namespace

absl::Status PolicyRegistry::AddSelection(std::string name, std::string help, Factory<SelectionPolicy> factory) {
  return Add(selections_, "selection", std::move(name), std::move(help), std::move(factory));
}
absl::Status PolicyRegistry::AddExpansion(std::string name, std::string help, Factory<ExpansionPolicy> factory) {
  return Add(expansions_, "expansion", std::move(name), std::move(help), std::move(factory));
}
absl::Status PolicyRegistry::AddStop(std::string name, std::string help, Factory<StopPolicy> factory) {
  return Add(stops_, "stop", std::move(name), std::move(help), std::move(factory));
}

absl::StatusOr<std::unique_ptr<SelectionPolicy>> PolicyRegistry::MakeSelection(const PolicySpec& spec) const {
  return Make(selections_, "selection", spec);
}
absl::StatusOr<std::unique_ptr<ExpansionPolicy>> PolicyRegistry::MakeExpansion(const PolicySpec& spec) const {
  return Make(expansions_, "expansion", spec);
}
absl::StatusOr<std::unique_ptr<StopPolicy>> PolicyRegistry::MakeStop(const PolicySpec& spec) const {
  return Make(stops_, "stop", spec);
}

std::vector<std::pair<std::string, std::string>> PolicyRegistry::selections() const { return List(selections_); }
std::vector<std::pair<std::string, std::string>> PolicyRegistry::expansions() const { return List(expansions_); }
std::vector<std::pair<std::string, std::string>> PolicyRegistry::stops() const { return List(stops_); }

}  // namespace maxkernel
