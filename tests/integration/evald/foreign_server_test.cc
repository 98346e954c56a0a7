// What the client says of servers that are not the daemon, or not well.
#include <arpa/inet.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/eval/wire/protocol_version.h"
#include "maxkernel/eval/evaluation_daemon.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/v1/evaluation.grpc.pb.h"
#include "tests/unit/eval/support.h"

namespace maxkernel {
namespace {

using testing::TemporaryFolder;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

RemoteEvaluatorOptions At(const std::string& address, absl::Duration timeout = absl::Seconds(2)) {
  RemoteEvaluatorOptions options;
  options.address = address;
  options.connect_timeout = timeout;
  options.reattach_attempts = 3;
  return options;
}

// A TCP server that says the same to everyone, or nothing.
class PlainServer {
 public:
  explicit PlainServer(std::string greeting) : greeting_(std::move(greeting)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      while (true) {
        const int client = ::accept(listener_, nullptr, nullptr);
        if (client < 0) return;
        if (greeting_.empty()) continue;  // kept open, silent
        [[maybe_unused]] const ssize_t sent = ::write(client, greeting_.data(), greeting_.size());
        ::close(client);
      }
    });
  }
  ~PlainServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  const std::string greeting_;
  const int listener_;
  int port_ = 0;
  std::thread thread_;
};

// A gRPC server on a free port with one service, or none.
class GrpcServer {
 public:
  explicit GrpcServer(grpc::Service* service, int port = 0) : port_(port) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(), &port_);
    if (service != nullptr) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
  }
  ~GrpcServer() { server_->Shutdown(std::chrono::system_clock::now()); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int port_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_CASE("Nobody listening is unavailable, and says how to start a daemon") {
  for (const char* address : {"127.0.0.1:1", "unix:/tmp/maxkernel-no-such.sock"}) {
    const absl::Status status = ProbeDaemon(At(address)).status();
    INFO(status);
    CHECK(absl::IsUnavailable(status));
    CHECK_THAT(MessageOf(status), Catch::Contains(absl::StrCat("start one with: maxkernel-evald --listen ", address)));
  }
}

TEST_CASE("Something that is no gRPC server is a failed precondition") {
  for (const char* greeting : {"", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n"}) {
    PlainServer server(greeting);
    const absl::Time start = absl::Now();
    const absl::Status status = ProbeDaemon(At(server.address())).status();
    INFO(greeting << ": " << status);
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(MessageOf(status), Catch::Contains("does not answer as a maxkernel evaluation daemon"));
    CHECK(absl::Now() - start < absl::Seconds(6));
  }
}

TEST_CASE("Another gRPC service is a failed precondition") {
  GrpcServer server(nullptr);
  const absl::Status status = ProbeDaemon(At(server.address())).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(MessageOf(status), Catch::Contains("is not a maxkernel evaluation daemon"));
}

TEST_CASE("Addresses that are none are refused") {
  for (const char* address : {"", "localhost", ":4000", "localhost:"}) {
    CHECK(absl::IsInvalidArgument(ProbeDaemon(At(address)).status()));
  }
}

class ScriptedService final : public v1::EvaluationService::Service {
 public:
  std::uint32_t version = eval::kProtocolVersion;
  std::atomic<int> calls = 0;
  int broken_calls = 0;       // that many streams end as a lost connection would
  bool malformed = false;
  std::string last_key;

  grpc::Status GetCapabilities(grpc::ServerContext*, const v1::GetCapabilitiesRequest*, v1::GetCapabilitiesResponse* response) override {
    response->set_protocol_version(version);
    return grpc::Status::OK;
  }
  grpc::Status Evaluate(grpc::ServerContext* context, const v1::EvaluateRequest* request, grpc::ServerWriter<v1::EvaluateEvent>* writer) override {
    last_key = request->idempotency_key();
    v1::EvaluateEvent event;
    event.mutable_accepted();
    writer->Write(event);
    if (++calls <= broken_calls) return {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
    context->AddTrailingMetadata(eval::kOriginMetadata, "daemon");
    event.mutable_finished()->set_fidelity(v1::FIDELITY_ESTIMATE);
    event.mutable_finished()->set_verdict(malformed ? v1::VERDICT_UNSPECIFIED : v1::VERDICT_CORRECT);
    writer->Write(event);
    return grpc::Status::OK;
  }
};

absl::StatusOr<Evaluation> EvaluateAt(const std::string& address) {
  auto evaluator = MakeRemoteEvaluator(std::make_shared<const Task>(testing::MakeTask()), At(address));
  EvaluateRequest request;
  request.idempotency_key = "the key";
  request.candidate = testing::MakeCandidate("");
  return (*evaluator)->Evaluate({request, {}, absl::InfiniteFuture(), nullptr});
}

TEST_CASE("A daemon of another protocol version is a failed precondition that names both") {
  ScriptedService service;
  service.version = 99;
  GrpcServer server(&service);
  const absl::Status status = ProbeDaemon(At(server.address())).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(MessageOf(status), Catch::Contains("speaks version 99") && Catch::Contains("this program version 1"));
}

TEST_CASE("A broken stream is taken up again under its key, as often as the options say") {
  ScriptedService service;
  GrpcServer server(&service);
  SECTION("often enough") {
    service.broken_calls = 3;
    const absl::StatusOr<Evaluation> evaluation = EvaluateAt(server.address());
    REQUIRE(evaluation.ok());
    CHECK(evaluation->verdict == Verdict::kCorrect);
    CHECK(service.calls == 4);
    CHECK(service.last_key == "the key");
  }
  SECTION("not often enough") {
    service.broken_calls = 4;
    const absl::Status status = EvaluateAt(server.address()).status();
    CHECK(absl::IsUnavailable(status));
    CHECK_THAT(MessageOf(status), Catch::Contains("the connection broke again and again (Socket closed)"));
    CHECK(service.calls == 4);
  }
}

TEST_CASE("A malformed answer is an internal error") {
  ScriptedService service;
  service.malformed = true;
  GrpcServer server(&service);
  const absl::Status status = EvaluateAt(server.address()).status();
  CHECK(absl::IsInternal(status));
  CHECK_THAT(MessageOf(status), Catch::Contains("verdict"));
}

TEST_CASE("Evaluating where nobody listens is unavailable after the attempts") {
  const absl::Time start = absl::Now();
  const absl::Status status = EvaluateAt("127.0.0.1:1").status();
  CHECK(absl::IsUnavailable(status));
  CHECK(absl::Now() - start < absl::Seconds(12));
}

TEST_CASE("The daemon refuses a client of another version") {
  TemporaryFolder folder;
  const auto daemon = EvaluationDaemon::Start(testing::FakeDaemonOptions(folder));
  REQUIRE(daemon.ok());
  const auto stub = v1::EvaluationService::NewStub(grpc::CreateChannel((*daemon)->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GetCapabilitiesRequest request;
  request.set_protocol_version(7);
  v1::GetCapabilitiesResponse response;
  const grpc::Status status = stub->GetCapabilities(&context, request, &response);
  CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK_THAT(status.error_message(), Catch::Contains("version 7") && Catch::Contains("this daemon version 1"));
}

grpc::ByteBuffer Bytes(const std::string& text) {
  grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  (void)buffer.Dump(&slices);
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

// One message there, one back, on a method whose stubs are not at hand.
std::string CallRaw(const std::string& address, const std::string& method, const std::string& message) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(nullptr);
  queue.Next(&tag, &ok);
  call->Write(Bytes(message), nullptr);
  queue.Next(&tag, &ok);
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  queue.Next(&tag, &ok);
  return ok ? Text(answer) : "";
}

TEST_CASE("Health and reflection answer") {
  TemporaryFolder folder;
  const auto daemon = EvaluationDaemon::Start(testing::FakeDaemonOptions(folder));
  REQUIRE(daemon.ok());
  const std::string& address = (*daemon)->address();
  // Field 1, "serving": enum value 1.
  CHECK(CallRaw(address, "/grpc.health.v1.Health/Check", "") == "\x08\x01");
  CHECK(CallRaw(address, "/grpc.health.v1.Health/Check", "\x0a\x1emaxkernel.v1.EvaluationService") == "\x08\x01");
  // Field 7, list_services.
  CHECK_THAT(CallRaw(address, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*"),
             Catch::Contains("maxkernel.v1.EvaluationService"));
}

}  // namespace
}  // namespace maxkernel
