#include "maxkernel/policies/autotune.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "maxkernel/policies/tunables.h"

namespace maxkernel {
namespace {

constexpr char kOperator[] = "autotune";
constexpr char kErrorParameter[] = "error";

// A point of a space of combinations: which choice each tunable has. Numbered in mixed radix, the last tunable fastest.
using PointIndex = std::uint64_t;

std::vector<std::size_t> ChoicesAt(const std::vector<Tunable>& tunables, PointIndex index) {
  std::vector<std::size_t> choices(tunables.size());
  for (std::size_t i = tunables.size(); i-- > 0;) {
    choices[i] = index % tunables[i].choices.size();
    index /= tunables[i].choices.size();
  }
  return choices;
}

PointIndex IndexOf(const std::vector<Tunable>& tunables, const std::vector<std::size_t>& choices) {
  PointIndex index = 0;
  for (std::size_t i = 0; i < tunables.size(); ++i) index = index * tunables[i].choices.size() + choices[i];
  return index;
}

std::size_t PlaceOf(const Tunable& tunable, const std::string& value) {
  return static_cast<std::size_t>(std::find(tunable.choices.begin(), tunable.choices.end(), value) - tunable.choices.begin());
}

// nullopt: too many to number.
std::optional<PointIndex> CountPoints(const std::vector<Tunable>& tunables) {
  PointIndex count = 1;
  for (const Tunable& tunable : tunables) {
    if (count > (PointIndex{1} << 62) / tunable.choices.size()) return std::nullopt;
    count *= tunable.choices.size();
  }
  return count;
}

// What is the same in all sources that differ in the values of tunables alone.
std::string TemplateOf(const Candidate& candidate, const std::vector<Tunable>& tunables) {
  std::string text;
  for (const SourceFile& file : candidate.files()) {
    absl::StrAppend(&text, file.path.size(), " ", file.path);
    std::size_t begin = 0;
    for (const Tunable& tunable : tunables) {
      if (tunable.file != file.path) continue;
      text.append(file.text, begin, tunable.value_offset - begin);
      text.push_back('\0');
      begin = tunable.value_offset + tunable.value.size();
    }
    text.append(file.text, begin);
    text.append(2, '\0');
  }
  return Sha256Hex(text);
}

std::uint64_t Below(KeyedRandom& random, std::uint64_t bound) {
  if (bound <= std::numeric_limits<std::uint32_t>::max()) return random.NextBelow(static_cast<std::uint32_t>(bound));
  // The bias is below 2^-2 of one part in bound, far below what any search could see.
  const std::uint64_t high = random.NextUint32();
  return ((high << 32) | random.NextUint32()) % bound;
}

class AutotuneProposer final : public Proposer {
 public:
  absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) override {
    const ProposeRequest& request = args.request;
    ProposeResult result;
    if (const auto error = request.parameters.find(kErrorParameter); error != request.parameters.end()) {
      result.failure = error->second;
      return result;
    }
    absl::StatusOr<Candidate> candidate = SetTunables(*request.parents.front().candidate, request.parameters);
    if (!candidate.ok()) {
      result.failure = std::string(candidate.status().message());
      return result;
    }
    Proposal proposal;
    proposal.candidate = std::make_shared<const Candidate>(*std::move(candidate));
    proposal.rationale = "set";
    for (const auto& [name, value] : request.parameters) absl::StrAppend(&proposal.rationale, " ", name, "=", value);
    proposal.tunables = request.parameters;
    result.proposals.push_back(std::move(proposal));
    return result;
  }
};

class Autotune final : public ExpansionPolicy {
 public:
  explicit Autotune(AutotuneOptions options) : options_(options) {}

  void OnEvent(const OnEventArgs& args) override {
    if (const auto* added = std::get_if<NodeAdded>(&args.event.body)) {
      NoteNode(*added);
    } else if (const auto* dispatched = std::get_if<ProposalDispatched>(&args.event.body)) {
      if (dispatched->operator_name == kOperator) NoteDispatched(*dispatched);
    } else if (const auto* finished = std::get_if<ProposalFinished>(&args.event.body)) {
      NoteFinished(*finished);
    }
  }

  absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args) const override {
    if (args.order.parents.empty()) return std::nullopt;
    const NodeId parent = args.order.parents.front();
    ProposeRequest request;
    request.operator_name = kOperator;
    request.parents.push_back(MakeParentContext(args.graph, parent));
    if (args.earlier != nullptr && args.earlier->operator_name == kOperator) {
      request.parameters = args.earlier->parameters;
      return request;
    }
    const NodeInfo& info = nodes_.at(ToNumber(parent));
    if (!info.error.empty()) {
      if (reported_.contains(parent)) return std::nullopt;
      request.parameters[kErrorParameter] = info.error;
      return request;
    }
    if (info.space == nullptr) return std::nullopt;
    const std::optional<PointIndex> point = ChoosePoint(info, args.random);
    if (!point.has_value()) return std::nullopt;
    const std::vector<std::size_t> choices = ChoicesAt(info.space->tunables, *point);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const Tunable& tunable = info.space->tunables[i];
      request.parameters[tunable.name] = tunable.choices[choices[i]];
    }
    return request;
  }

  Proposer& proposer() override { return proposer_; }
  std::vector<std::string> operators() const override { return {kOperator}; }

 private:
  struct Space {
    std::vector<Tunable> tunables;
    PointIndex size = 0;
    std::set<PointIndex> taken;      // tried, or on the way
    PointIndex first_untried = 0;    // none below it is untried
  };
  struct NodeInfo {
    Space* space = nullptr;          // null: nothing to tune
    PointIndex point = 0;
    std::string error;
  };

  void NoteNode(const NodeAdded& added) {
    NodeInfo info;
    absl::StatusOr<std::vector<Tunable>> tunables = FindTunables(*added.candidate);
    if (!tunables.ok()) {
      info.error = std::string(tunables.status().message());
    } else if (tunables->empty()) {
      if (added.node == kRootNode) {
        info.error = absl::StrCat(added.candidate->entry().path,
                                  ": no tunable is declared; write one as NAME = value  # tunable: choice, choice");
      }
    } else if (const std::optional<PointIndex> size = CountPoints(*tunables); !size.has_value()) {
      info.error = absl::StrCat(added.candidate->entry().path, ": the tunables span more than 2^62 combinations");
    } else {
      Space& space = spaces_[TemplateOf(*added.candidate, *tunables)];
      if (space.size == 0) {
        space.size = *size;
        space.tunables = *tunables;
      }
      std::vector<std::size_t> choices;
      for (const Tunable& tunable : *tunables) choices.push_back(PlaceOf(tunable, tunable.value));
      info.space = &space;
      info.point = IndexOf(space.tunables, choices);
      Take(space, info.point);
    }
    nodes_.push_back(std::move(info));
  }

  void NoteDispatched(const ProposalDispatched& dispatched) {
    const NodeId parent = dispatched.parents.front();
    Space* space = nodes_.at(ToNumber(parent)).space;
    if (dispatched.parameters.contains(kErrorParameter)) reported_.insert(parent);
    if (space == nullptr) return;
    std::vector<std::size_t> choices;
    for (const Tunable& tunable : space->tunables) {
      const auto value = dispatched.parameters.find(tunable.name);
      if (value == dispatched.parameters.end()) return;
      choices.push_back(PlaceOf(tunable, value->second));
    }
    const PointIndex point = IndexOf(space->tunables, choices);
    Take(*space, point);
    on_the_way_[dispatched.work] = {space, point};
  }

  // A point whose proposal never came is open again.
  void NoteFinished(const ProposalFinished& finished) {
    const auto found = on_the_way_.find(finished.work);
    if (found == on_the_way_.end()) return;
    const auto [space, point] = found->second;
    on_the_way_.erase(found);
    const bool never_came = finished.settle == Settle::kInfrastructureFailed || finished.settle == Settle::kLost ||
                            finished.settle == Settle::kCancelled;
    if (!never_came) return;
    space->taken.erase(point);
    space->first_untried = std::min(space->first_untried, point);
  }

  static void Take(Space& space, PointIndex point) {
    space.taken.insert(point);
    while (space.taken.contains(space.first_untried)) ++space.first_untried;
  }

  std::optional<PointIndex> ChoosePoint(const NodeInfo& info, KeyedRandom random) const {
    const Space& space = *info.space;
    if (options_.method == AutotuneOptions::Method::kNeighbour) return ChooseNeighbour(info, random);
    if (space.first_untried >= space.size) return std::nullopt;
    if (options_.method == AutotuneOptions::Method::kExhaustive) return space.first_untried;
    PointIndex point = Below(random, space.size);
    while (space.taken.contains(point)) point = (point + 1) % space.size;
    return point;
  }

  static std::optional<PointIndex> ChooseNeighbour(const NodeInfo& info, KeyedRandom& random) {
    const Space& space = *info.space;
    std::vector<std::size_t> choices = ChoicesAt(space.tunables, info.point);
    std::vector<PointIndex> untried;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const std::size_t own = choices[i];
      for (const std::size_t other : {own - 1, own + 1}) {
        if (other >= space.tunables[i].choices.size()) continue;  // own - 1 wraps around
        choices[i] = other;
        const PointIndex point = IndexOf(space.tunables, choices);
        if (!space.taken.contains(point)) untried.push_back(point);
      }
      choices[i] = own;
    }
    if (untried.empty()) return std::nullopt;
    return untried[random.NextBelow(static_cast<std::uint32_t>(untried.size()))];
  }

  const AutotuneOptions options_;
  AutotuneProposer proposer_;
  std::map<std::string, Space> spaces_;  // by template; a map, since nodes point into it
  std::vector<NodeInfo> nodes_;          // by id
  std::set<NodeId> reported_;            // whose error became a failed proposal
  std::map<WorkId, std::pair<Space*, PointIndex>> on_the_way_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeAutotune(const AutotuneOptions& options) {
  return std::make_unique<Autotune>(options);
}

absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeAutotune(const PolicySpec& spec) {
  std::string method = "exhaustive";
  OptionReader reader(spec);
  reader.ReadChoice("method", "which combinations, in what order", &method, {"exhaustive", "random", "neighbour"});
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  AutotuneOptions options;
  if (method == "random") options.method = AutotuneOptions::Method::kRandom;
  if (method == "neighbour") options.method = AutotuneOptions::Method::kNeighbour;
  return MakeAutotune(options);
}

}  // namespace maxkernel
