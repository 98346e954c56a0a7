#include "tools/maxkernel/progress.h"

#include <unistd.h>

#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/mutex.h"
#include "maxkernel/store/event_json.h"
#include "tools/maxkernel/format.h"

namespace maxkernel {
namespace {

constexpr absl::Duration kLinePeriod = absl::Milliseconds(200);
constexpr absl::Duration kPlainPeriod = absl::Seconds(10);

// What the progress line says; a fold over events.
class Tally {
 public:
  void Apply(const ObserveArgs& args) {
    budget_ = args.budget;
    if (const auto* finished = std::get_if<EvaluationFinished>(&args.event.body)) {
      running_.erase(finished->work);
    } else if (const auto* evaluation = std::get_if<EvaluationDispatched>(&args.event.body)) {
      running_.insert(evaluation->work);
    } else if (const auto* proposal = std::get_if<ProposalDispatched>(&args.event.body)) {
      proposing_.insert(proposal->work);
    } else if (const auto* proposed = std::get_if<ProposalFinished>(&args.event.body)) {
      proposing_.erase(proposed->work);
      if (proposed->settle == Settle::kCandidateFailed) ++failed_proposals_;
    } else if (const auto* champion = std::get_if<NewChampion>(&args.event.body)) {
      champion_ = *champion;
    }
    nodes_ = args.graph.size();
    valid_ = args.graph.ranked().size();
  }

  std::string Text(absl::Duration elapsed) const {
    std::string text = absl::StrCat(DurationText(elapsed), "  ", nodes_, " nodes, ", valid_, " scored");
    if (failed_proposals_ > 0) absl::StrAppend(&text, ", ", failed_proposals_, " failed proposals");
    absl::StrAppend(&text, "  running ", running_.size());
    if (!proposing_.empty()) absl::StrAppend(&text, "+", proposing_.size());
    absl::StrAppend(&text, "  evaluations ", budget_.spent.evaluations);
    if (budget_.limits.evaluations.has_value()) absl::StrAppend(&text, "/", *budget_.limits.evaluations);
    if (budget_.spent.microdollars > 0) absl::StrAppend(&text, "  $", static_cast<double>(budget_.spent.microdollars) / 1e6);
    if (champion_.has_value()) absl::StrAppend(&text, "  best ", ToString(champion_->node), " ", ScoreText(champion_->score));
    return text;
  }

  absl::Duration elapsed() const { return budget_.wall_time; }

 private:
  BudgetView budget_;
  std::size_t nodes_ = 0;
  std::size_t valid_ = 0;
  std::size_t failed_proposals_ = 0;
  std::set<WorkId> running_;
  std::set<WorkId> proposing_;
  std::optional<NewChampion> champion_;
};

std::string ChampionText(const NewChampion& champion, const GraphView& graph) {
  const Node& node = graph.node(champion.node);
  std::string text = absl::StrCat(ToString(champion.node), "  ", ScoreText(champion.score), "  ", node.operator_name);
  if (!node.tunables.empty()) absl::StrAppend(&text, " ", ParametersText(node.tunables));
  return text;
}

class Progress : public SearchObserver {
 public:
  explicit Progress(ProgressStyle style)
      : style_(style), period_(style == ProgressStyle::kLine ? kLinePeriod : kPlainPeriod), ticker_([this] { Tick(); }) {}

  ~Progress() override {
    {
      internal::MutexLock lock(mutex_);
      ended_ = true;
    }
    changed_.NotifyAll();
    ticker_.join();
    Clear();
  }

  void OnEvent(const ObserveArgs& args) override {
    internal::MutexLock lock(mutex_);
    tally_.Apply(args);
    at_last_event_ = absl::Now();
    if (const auto* champion = std::get_if<NewChampion>(&args.event.body)) {
      Clear();
      std::cerr << "  " << ChampionText(*champion, args.graph) << std::endl;
    }
  }

 private:
  void Tick() {
    internal::MutexLock lock(mutex_);
    while (!changed_.WaitFor(mutex_, period_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ended_; })) Draw();
  }

  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::string text = tally_.Text(tally_.elapsed() + (absl::Now() - at_last_event_));
    if (style_ == ProgressStyle::kLine) {
      std::cerr << "\r\x1b[K" << text << std::flush;
    } else {
      std::cerr << "  " << text << std::endl;
    }
  }

  void Clear() {
    if (style_ == ProgressStyle::kLine) std::cerr << "\r\x1b[K" << std::flush;
  }

  const ProgressStyle style_;
  const absl::Duration period_;
  internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  Tally tally_ ABSL_GUARDED_BY(mutex_);
  absl::Time at_last_event_ ABSL_GUARDED_BY(mutex_) = absl::Now();
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread ticker_;
};

class JsonEvents : public SearchObserver {
 public:
  void OnEvent(const ObserveArgs& args) override { std::cout << EventToJson(args.event) << std::endl; }
};

}  // namespace

ProgressStyle ProgressStyleForStandardError() {
  return ::isatty(STDERR_FILENO) == 1 ? ProgressStyle::kLine : ProgressStyle::kPlain;
}

std::unique_ptr<SearchObserver> MakeProgress(ProgressStyle style) {
  if (style == ProgressStyle::kNone) return nullptr;
  return std::make_unique<Progress>(style);
}

std::unique_ptr<SearchObserver> MakeJsonEvents() { return std::make_unique<JsonEvents>(); }

}  // namespace maxkernel
