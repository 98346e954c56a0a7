#include "lib/eval/daemon/job_queue.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace maxkernel::eval {
namespace {

using Answer = absl::StatusOr<JobAnswer>;

Evaluation Named(const std::string& identity) {
  Evaluation evaluation;
  evaluation.identity = identity;
  return evaluation;
}

std::string IdentityOf(const Answer& answer) { return std::get<Evaluation>(*answer).identity; }

// Holds jobs until it is opened.
class Door {
 public:
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // False if stopped first.
  bool Pass(std::stop_token stop) {
    std::stop_callback wake(stop, [&] { std::lock_guard lock(mutex_); changed_.notify_all(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_ || stop.stop_requested(); });
    return !stop.stop_requested();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

JobOrder Order(std::string key, JobOrder::Work work, absl::Duration linger = absl::ZeroDuration()) {
  return {key, "fingerprint of " + key, linger, std::move(work)};
}

JobOrder::Work AnswerAtOnce(const std::string& identity) {
  return [identity](std::stop_token, const JobOrder::Emit&) -> Answer { return Named(identity); };
}

JobOrder::Work WaitAt(Door& door, const std::string& identity) {
  return [&door, identity](std::stop_token stop, const JobOrder::Emit&) -> Answer {
    if (!door.Pass(stop)) return absl::CancelledError("stopped");
    return Named(identity);
  };
}

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return condition();
}

// Reads a watch to its end.
Answer Await(JobWatch& watch, std::vector<JobEvent>* events = nullptr) {
  std::optional<Answer> answer;
  const bool ended = Eventually([&] {
    while (std::optional<JobEvent> event = watch.Next()) {
      if (events != nullptr) events->push_back(std::move(*event));
    }
    answer = watch.Answer();
    return answer.has_value();
  });
  return ended ? *answer : Answer(absl::DeadlineExceededError("no answer"));
}

TEST_CASE("A job runs and its watch sees everything in order") {
  JobQueue queue({1, 4});
  const auto watch = queue.Submit(Order("a",
                                        [](std::stop_token, const JobOrder::Emit& emit) -> Answer {
                                          JobEvent event;
                                          event.kind = JobEvent::Kind::kProgress;
                                          event.progress.message = "half";
                                          emit(event);
                                          return Named("done");
                                        }),
                                  nullptr);
  REQUIRE(watch.ok());
  CHECK_FALSE((*watch)->joined());
  std::vector<JobEvent> events;
  CHECK(IdentityOf(Await(**watch, &events)) == "done");
  std::vector<JobEvent::Kind> kinds;
  for (const JobEvent& event : events) {
    if (event.kind != JobEvent::Kind::kQueued) kinds.push_back(event.kind);
  }
  CHECK(kinds == std::vector<JobEvent::Kind>{JobEvent::Kind::kStarted, JobEvent::Kind::kProgress});
  queue.Leave(*watch);
}

TEST_CASE("A second watch of a key joins its job and sees the same events") {
  JobQueue queue({1, 4});
  Door door;
  const auto first = queue.Submit(Order("a", WaitAt(door, "once")), nullptr);
  REQUIRE(first.ok());
  const auto second = queue.Submit(Order("a", AnswerAtOnce("twice")), nullptr);
  REQUIRE(second.ok());
  CHECK((*second)->joined());
  door.Open();
  CHECK(IdentityOf(Await(**first)) == "once");
  std::vector<JobEvent> events;
  CHECK(IdentityOf(Await(**second, &events)) == "once");
  CHECK_FALSE(events.empty());
  queue.Leave(*first);
  queue.Leave(*second);
}

TEST_CASE("A key in use for something else is refused") {
  JobQueue queue({1, 4});
  Door door;
  const auto watch = queue.Submit(Order("a", WaitAt(door, "x")), nullptr);
  REQUIRE(watch.ok());
  JobOrder other = Order("a", AnswerAtOnce("y"));
  other.fingerprint = "another";
  CHECK(absl::IsInvalidArgument(queue.Submit(std::move(other), nullptr).status()));
  door.Open();
  (void)Await(**watch);
  queue.Leave(*watch);
}

TEST_CASE("A full queue refuses with a text that says how full") {
  JobQueue queue({1, 2});
  Door door;
  std::vector<std::shared_ptr<JobWatch>> watches;
  const auto first = queue.Submit(Order("running", WaitAt(door, "x")), nullptr);
  REQUIRE(first.ok());
  watches.push_back(*first);
  REQUIRE(Eventually([&] { return queue.running() == 1 && queue.waiting() == 0; }));
  for (const char* key : {"b", "c"}) {
    const auto watch = queue.Submit(Order(key, WaitAt(door, key)), nullptr);
    REQUIRE(watch.ok());
    watches.push_back(*watch);
  }
  const absl::Status refused = queue.Submit(Order("d", AnswerAtOnce("d")), nullptr).status();
  CHECK(absl::IsResourceExhausted(refused));
  CHECK(std::string(refused.message()) == "the queue is full: 1 evaluations run and 2 wait; try again later");
  // Joining takes no place.
  const auto joined = queue.Submit(Order("b", AnswerAtOnce("b")), nullptr);
  REQUIRE(joined.ok());
  watches.push_back(*joined);
  std::vector<JobEvent> events;
  door.Open();
  CHECK(IdentityOf(Await(*watches[2], &events)) == "c");
  CHECK(events.front().kind == JobEvent::Kind::kQueued);
  CHECK(events.front().position == 2);
  for (const auto& watch : watches) {
    (void)Await(*watch);
    queue.Leave(watch);
  }
}

TEST_CASE("A job is cancelled when its last watch leaves") {
  JobQueue queue({1, 4});
  Door door;
  std::atomic<bool> stopped = false;
  const auto work = [&](std::stop_token stop, const JobOrder::Emit&) -> Answer {
    stopped = !door.Pass(stop);
    return absl::CancelledError("stopped");
  };
  const auto first = queue.Submit(Order("a", work), nullptr);
  const auto second = queue.Submit(Order("a", work), nullptr);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  queue.Leave(*first);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(stopped);
  queue.Leave(*second);
  CHECK(Eventually([&] { return stopped.load(); }));
}

TEST_CASE("A waiting job is cancelled without ever running") {
  JobQueue queue({1, 4});
  Door door;
  std::atomic<bool> ran = false;
  const auto running = queue.Submit(Order("a", WaitAt(door, "a")), nullptr);
  REQUIRE(Eventually([&] { return queue.running() == 1; }));
  const auto waiting = queue.Submit(Order("b",
                                          [&](std::stop_token, const JobOrder::Emit&) -> Answer {
                                            ran = true;
                                            return Named("b");
                                          }),
                                    nullptr);
  queue.Leave(*waiting);
  CHECK(queue.waiting() == 0);
  CHECK(absl::IsCancelled(Await(**waiting).status()));
  door.Open();
  (void)Await(**running);
  queue.Leave(*running);
  CHECK_FALSE(ran);
}

TEST_CASE("An unwatched job lingers, can be joined again, and ends after its time") {
  JobQueue queue({1, 4});
  Door door;
  std::atomic<int> stopped = 0;
  const auto work = [&](std::stop_token stop, const JobOrder::Emit&) -> Answer {
    if (door.Pass(stop)) return Named("survived");
    ++stopped;
    return absl::CancelledError("stopped");
  };
  SECTION("joined in time") {
    const auto first = queue.Submit(Order("a", work, absl::Seconds(20)), nullptr);
    queue.Leave(*first);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    const auto second = queue.Submit(Order("a", work, absl::Seconds(20)), nullptr);
    REQUIRE(second.ok());
    CHECK((*second)->joined());
    door.Open();
    CHECK(IdentityOf(Await(**second)) == "survived");
    queue.Leave(*second);
  }
  SECTION("not joined") {
    const auto first = queue.Submit(Order("a", work, absl::Milliseconds(150)), nullptr);
    queue.Leave(*first);
    CHECK(Eventually([&] { return stopped == 1; }));
  }
  SECTION("given up explicitly") {
    const auto first = queue.Submit(Order("a", work, absl::Seconds(60)), nullptr);
    REQUIRE(Eventually([&] { return queue.running() == 1; }));
    queue.Leave(*first);
    queue.Cancel("a");
    CHECK(Eventually([&] { return stopped == 1; }));
  }
}

TEST_CASE("A key whose job is being cancelled starts anew") {
  JobQueue queue({2, 4});
  Door slow;
  const auto first = queue.Submit(Order("a",
                                        [&](std::stop_token, const JobOrder::Emit&) -> Answer {
                                          slow.Pass({});
                                          return absl::CancelledError("late");
                                        }),
                                  nullptr);
  REQUIRE(Eventually([&] { return queue.running() == 1; }));
  queue.Leave(*first);
  const auto second = queue.Submit(Order("a", AnswerAtOnce("new")), nullptr);
  REQUIRE(second.ok());
  CHECK_FALSE((*second)->joined());
  CHECK(IdentityOf(Await(**second)) == "new");
  queue.Leave(*second);
  slow.Open();
}

TEST_CASE("An exception in a job is its answer, not the daemon's end") {
  JobQueue queue({1, 4});
  const auto watch = queue.Submit(Order("a", [](std::stop_token, const JobOrder::Emit&) -> Answer { throw std::runtime_error("oops"); }),
                                  nullptr);
  const Answer answer = Await(**watch);
  CHECK(absl::IsInternal(answer.status()));
  CHECK_THAT(std::string(answer.status().message()), Catch::Contains("oops"));
  queue.Leave(*watch);
}

TEST_CASE("Shutdown turns waiting jobs away, lets running ones finish, and cancels the late") {
  Door door;
  SECTION("patiently") {
    JobQueue queue({1, 4});
    const auto running = queue.Submit(Order("a", WaitAt(door, "finished")), nullptr);
    REQUIRE(Eventually([&] { return queue.running() == 1; }));
    const auto waiting = queue.Submit(Order("b", AnswerAtOnce("b")), nullptr);
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      door.Open();
    });
    queue.Shutdown(absl::Seconds(20));
    opener.join();
    CHECK(IdentityOf(Await(**running)) == "finished");
    CHECK(absl::IsUnavailable(Await(**waiting).status()));
    CHECK(absl::IsUnavailable(queue.Submit(Order("c", AnswerAtOnce("c")), nullptr).status()));
  }
  SECTION("without patience") {
    JobQueue queue({1, 4});
    const auto running = queue.Submit(Order("a", WaitAt(door, "finished")), nullptr);
    REQUIRE(Eventually([&] { return queue.running() == 1; }));
    queue.Shutdown(absl::ZeroDuration());
    CHECK(absl::IsCancelled(Await(**running).status()));
  }
}

TEST_CASE("Many clients hammer the queue and each gets its answer") {
  JobQueue queue({4, 1000});
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string((client + i) % 20);
        const auto watch = queue.Submit(Order(key, AnswerAtOnce("answer " + key)), [] {});
        if (!watch.ok()) continue;
        if (i % 5 != 0) {
          const Answer answer = Await(**watch);
          if (answer.ok() && IdentityOf(answer) == "answer " + key) ++right;
        } else {
          ++right;
        }
        (*watch)->Silence();
        queue.Leave(*watch);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(right == 400);
}

}  // namespace
}  // namespace maxkernel::eval
