#ifndef MAXKERNEL_LIB_LLM_DECORATOR_H_
#define MAXKERNEL_LIB_LLM_DECORATOR_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maxkernel/llm/llm_client.h"

namespace maxkernel::llm {

// A client that adds one thing to another.
class Decorator : public LlmClient {
 public:
  explicit Decorator(std::unique_ptr<LlmClient> inner) : inner_(std::move(inner)) {}
  virtual std::string_view name() const = 0;
  const LlmClient& inner() const { return *inner_; }

 protected:
  LlmClient& inner() { return *inner_; }

 private:
  const std::unique_ptr<LlmClient> inner_;
};

// The names of a stack of decorators, outermost first; the client at the bottom is "transport".
inline std::vector<std::string> DescribeStack(const LlmClient& client) {
  std::vector<std::string> names;
  const LlmClient* at = &client;
  while (const auto* decorator = dynamic_cast<const Decorator*>(at)) {
    names.emplace_back(decorator->name());
    at = &decorator->inner();
  }
  names.emplace_back("transport");
  return names;
}

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_DECORATOR_H_
