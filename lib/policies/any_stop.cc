#include "maxkernel/policies/any_stop.h"

#include <utility>

namespace maxkernel {
namespace {

class AnyStop : public StopPolicy {
 public:
  explicit AnyStop(std::vector<std::unique_ptr<StopPolicy>> members) : members_(std::move(members)) {}

  void OnEvent(const OnEventArgs& args) override {
    for (const auto& member : members_) member->OnEvent(args);
  }

  StopVerdict Check(const StopArgs& args) const override {
    for (const auto& member : members_) {
      StopVerdict verdict = member->Check(args);
      if (verdict.kind != StopVerdict::Kind::kContinue) return verdict;
    }
    return {};
  }

 private:
  const std::vector<std::unique_ptr<StopPolicy>> members_;
};

}  // namespace

std::unique_ptr<StopPolicy> MakeAnyStop(std::vector<std::unique_ptr<StopPolicy>> members) {
  return std::make_unique<AnyStop>(std::move(members));
}

}  // namespace maxkernel
