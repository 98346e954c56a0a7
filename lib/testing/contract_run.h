// Simulated runs for the contract suites.
#ifndef MAXKERNEL_LIB_TESTING_CONTRACT_RUN_H_
#define MAXKERNEL_LIB_TESTING_CONTRACT_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/search/run_state.h"
#include "maxkernel/search.h"
#include "maxkernel/testing/simulation.h"

namespace maxkernel {

struct ContractRun {
  SearchResult result;
  std::vector<Event> events;
};

// A small run full of mishaps on a virtual clock. Parts that are null are simulated.
ContractRun RunSimulation(std::uint64_t seed, std::unique_ptr<SelectionPolicy> selection, std::unique_ptr<StopPolicy> stop);

// Folds events one by one and offers what a policy gets.
class Fold {
 public:
  explicit Fold(std::uint64_t seed) : seed_(seed) {}

  // False if the event cannot be applied.
  bool Apply(const Event& event) { return state_.Apply(event).ok(); }
  OnEventArgs ArgsOf(const Event& event) const {
    return {event, state_.graph(), KeyedRandom(seed_, RandomStream::kOnEvent, ToNumber(event.sequence))};
  }
  SelectArgs Select() const {
    return {state_.next_decision(), state_.graph(), state_.in_flight(), state_.budget(), {2, 2}, state_.last_time(),
            KeyedRandom(seed_, RandomStream::kSelect, ToNumber(state_.next_decision()))};
  }
  StopArgs Stop() const { return {state_.graph(), state_.budget(), state_.last_time()}; }
  const RunState& state() const { return state_; }

 private:
  const std::uint64_t seed_;
  RunState state_;
};

// "a fresh selection policy: OnEvent threw: ..." or nothing.
template <typename Call>
std::optional<std::string> TextOfException(Call&& call) {
  try {
    call();
    return std::nullopt;
  } catch (const std::exception& error) {
    return std::string(error.what());
  } catch (...) {
    return std::string("something that is no std::exception");
  }
}

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_TESTING_CONTRACT_RUN_H_
