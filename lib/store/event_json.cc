#include "maxkernel/store/event_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/store/duration_text.h"
#include "lib/store/event_fields.h"
#include "lib/store/json_document.h"
#include "lib/store/json_writer.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace store {

std::string_view NameOf(Decision::Kind kind) {
  switch (kind) {
    case Decision::Kind::kOrders:
      return "orders";
    case Decision::Kind::kWait:
      return "wait";
    case Decision::Kind::kExhausted:
      return "exhausted";
  }
  return "unknown";
}

std::string_view NameOf(RelabelOrder::Mode mode) { return mode == RelabelOrder::Mode::kMove ? "move" : "copy"; }
std::string_view NameOf(StopRequested::Mode mode) { return mode == StopRequested::Mode::kDrain ? "drain" : "cancel"; }

namespace {

using FindCandidate = std::function<absl::StatusOr<std::shared_ptr<const Candidate>>(const std::string&)>;

template <typename T>
inline constexpr bool kIsNamedEnum = !std::is_same_v<std::remove_cv_t<decltype(kValuesOf<T>)>, int>;

template <typename T>
inline constexpr bool kIsId = std::is_enum_v<T> && !kIsNamedEnum<T>;

// --- writing

class FieldWriter {
 public:
  template <typename T>
  using Ref = const T&;

  explicit FieldWriter(JsonWriter& out) : out_(out) {}

  template <typename T>
  void operator()(std::string_view name, const T& value) {
    out_.Key(name);
    Put(value);
  }
  // What is absent is left out; a number that JSON cannot hold counts as absent.
  template <typename T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (!value.has_value() || !IsWritable(*value)) return;
    (*this)(name, *value);
  }

  template <typename T>
  void Put(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_.Bool(value);
    } else if constexpr (kIsId<T>) {
      out_.Unsigned(ToNumber(value));
    } else if constexpr (std::is_enum_v<T>) {
      out_.String(NameOf(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      out_.Double(value);
    } else if constexpr (std::is_unsigned_v<T>) {
      out_.Unsigned(value);
    } else if constexpr (std::is_integral_v<T>) {
      out_.Integer(value);
    } else {
      out_.BeginObject();
      Fields(*this, value);
      out_.EndObject();
    }
  }
  void Put(const std::string& value) { out_.String(value); }
  void Put(absl::Duration value) {
    if (value == absl::InfiniteDuration()) return out_.String(kInfinite);
    if (value == -absl::InfiniteDuration()) return out_.String(kMinusInfinite);
    out_.Raw(NanosecondsText(value));
  }
  void Put(const std::shared_ptr<const Candidate>& value) {
    if (value == nullptr) return out_.Null();
    out_.String(value->content_hash());
  }
  void Put(const Order& value) {
    out_.BeginObject();
    (*this)("kind", std::string(kOrderKinds[value.index()]));
    std::visit([this](const auto& order) { Fields(*this, order); }, value);
    out_.EndObject();
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    out_.BeginArray();
    for (const T& value : values) {
      if (IsWritable(value)) Put(value);
    }
    out_.EndArray();
  }
  template <typename T>
  void Put(const std::map<std::string, T>& values) {
    out_.BeginObject();
    for (const auto& [key, value] : values) {
      if (!IsWritable(value)) continue;
      out_.Key(key);
      Put(value);
    }
    out_.EndObject();
  }

 private:
  template <typename T>
  static bool IsWritable(const T&) {
    return true;
  }
  static bool IsWritable(double value) { return std::isfinite(value); }
  static bool IsWritable(const Score& score) { return std::isfinite(score.value); }

  JsonWriter& out_;
};

// --- reading

class NameCollector {
 public:
  template <typename T>
  using Ref = T&;

  template <typename T>
  void operator()(std::string_view name, T&) {
    names.emplace_back(name);
  }

  std::vector<std::string> names;
};

class Reader {
 public:
  Reader(const JsonDocument& document, const FindCandidate* find_candidate)
      : document_(document), find_candidate_(find_candidate) {}

  const JsonDocument& document() const { return document_; }

  // Remembers the first failure; returns false.
  bool Fail(std::string message) {
    if (message_.empty()) message_ = std::move(message);
    return false;
  }
  bool FailAt(std::string_view field, std::string message) {
    Fail(std::move(message));
    return Prefix(field);
  }
  // Called while a failure travels outward.
  bool Prefix(std::string_view field) {
    const std::string inner = std::move(path_);
    path_ = std::string(field);
    if (!inner.empty()) absl::StrAppend(&path_, inner.front() == '[' ? "" : ".", inner);
    return false;
  }
  bool WrongKind(std::uint32_t index, std::string_view expected) {
    return Fail(absl::StrCat("expected ", internal::ToAbsl(expected), ", got ", Shown(index)));
  }
  absl::Status status() const {
    if (!world_.ok()) return world_;
    if (message_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(path_.empty() ? message_ : absl::StrCat("field ", path_, ": ", message_));
  }

  template <typename T>
  bool Read(std::uint32_t index, T& out);
  bool Read(std::uint32_t index, std::string& out) {
    if (token(index).kind != JsonDocument::Kind::kString) return WrongKind(index, "a string");
    out = document_.Unescape(index);
    return true;
  }
  bool Read(std::uint32_t index, absl::Duration& out);
  bool Read(std::uint32_t index, std::shared_ptr<const Candidate>& out);
  bool Read(std::uint32_t index, Order& out);
  template <typename T>
  bool Read(std::uint32_t index, std::vector<T>& out);
  template <typename T>
  bool Read(std::uint32_t index, std::map<std::string, T>& out);

 private:
  const JsonDocument::Token& token(std::uint32_t index) const { return document_.token(index); }
  std::string Shown(std::uint32_t index) const {
    const JsonDocument::Token& token = document_.token(index);
    std::string shown(Describe(token.kind));
    if (token.kind == JsonDocument::Kind::kNumber || token.kind == JsonDocument::Kind::kString) {
      constexpr std::size_t kLongest = 40;
      const bool whole = token.text.size() <= kLongest;
      absl::StrAppend(&shown, " '", internal::ToAbsl(token.text.substr(0, kLongest)), whole ? "'" : "...'");
    }
    return shown;
  }
  template <typename T>
  bool ReadNumber(std::uint32_t index, T& out);
  template <typename T>
  bool ReadName(std::uint32_t index, T& out);

  const JsonDocument& document_;
  const FindCandidate* find_candidate_;
  std::string path_;
  std::string message_;
  absl::Status world_;
};

// Reads the members of one object. They normally come in the order of Fields, so that a look-up is one comparison.
class FieldReader {
 public:
  template <typename T>
  using Ref = T&;

  FieldReader(Reader& reader, std::uint32_t index)
      : reader_(reader), first_(index + 1), end_(reader.document().token(index).end), cursor_(index + 1) {}

  template <typename T>
  void operator()(std::string_view name, T& value) {
    if (failed_) return;
    const std::uint32_t found = Find(name);
    if (found == 0) {
      failed_ = !reader_.FailAt(name, "is missing");
    } else if (!reader_.Read(found, value)) {
      failed_ = !reader_.Prefix(name);
    }
  }
  template <typename T>
  void operator()(std::string_view name, std::optional<T>& value) {
    if (failed_) return;
    const std::uint32_t found = Find(name);
    if (found == 0 || reader_.document().token(found).kind == JsonDocument::Kind::kNull) return;
    if (!reader_.Read(found, value.emplace())) failed_ = !reader_.Prefix(name);
  }

  bool failed() const { return failed_; }

  // Whether all went well and no member is left over. `collect` lists the names that there are.
  template <typename Collect>
  bool Finish(Collect collect) {
    if (failed_) return false;
    std::uint32_t members = 0;
    for (std::uint32_t key = first_; key != end_; key = Next(key)) ++members;
    if (members == taken_) return true;
    std::vector<std::string> names = collect();
    std::vector<bool> seen(names.size());
    for (std::uint32_t key = first_; key != end_; key = Next(key)) {
      const std::string given = reader_.document().Unescape(key);
      const auto known = std::find(names.begin(), names.end(), given);
      if (known == names.end()) return reader_.FailAt(given, absl::StrCat("is not known", internal::DidYouMean(given, names)));
      if (seen[static_cast<std::size_t>(known - names.begin())]) return reader_.FailAt(given, "is given twice");
      seen[static_cast<std::size_t>(known - names.begin())] = true;
    }
    return true;
  }

 private:
  std::uint32_t Next(std::uint32_t key) const { return reader_.document().token(key + 1).end; }

  // The index of the member's value; 0 if there is none, since 0 is the whole document.
  std::uint32_t Find(std::string_view name) {
    if (cursor_ != end_ && reader_.document().Equals(cursor_, name)) return Take(cursor_);
    for (std::uint32_t key = first_; key != end_; key = Next(key)) {
      if (reader_.document().Equals(key, name)) return Take(key);
    }
    return 0;
  }
  std::uint32_t Take(std::uint32_t key) {
    ++taken_;
    cursor_ = Next(key);
    return key + 1;
  }

  Reader& reader_;
  std::uint32_t first_;
  std::uint32_t end_;
  std::uint32_t cursor_;
  std::uint32_t taken_ = 0;
  bool failed_ = false;
};

template <typename T>
std::vector<std::string> NamesOf(T& value) {
  NameCollector collector;
  Fields(collector, value);
  return collector.names;
}

template <typename T>
bool Reader::Read(std::uint32_t index, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    const JsonDocument::Kind kind = token(index).kind;
    if (kind != JsonDocument::Kind::kTrue && kind != JsonDocument::Kind::kFalse) return WrongKind(index, "true or false");
    out = kind == JsonDocument::Kind::kTrue;
    return true;
  } else if constexpr (kIsId<T>) {
    std::uint64_t number = 0;
    if (!ReadNumber(index, number)) return false;
    out = T{number};
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    return ReadName(index, out);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return ReadNumber(index, out);
  } else {
    if (token(index).kind != JsonDocument::Kind::kObject) return WrongKind(index, "an object");
    FieldReader fields(*this, index);
    Fields(fields, out);
    return fields.Finish([&out] { return NamesOf(out); });
  }
}

template <typename T>
bool Reader::ReadNumber(std::uint32_t index, T& out) {
  constexpr bool kFloat = std::is_floating_point_v<T>;
  const auto expected = [] {
    if constexpr (kFloat) {
      return std::string("a number");
    } else {
      return absl::StrCat("an integer from ", std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max());
    }
  };
  if (token(index).kind != JsonDocument::Kind::kNumber) return WrongKind(index, expected());
  const std::string_view text = token(index).text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return WrongKind(index, expected());
  return true;
}

template <typename T>
bool Reader::ReadName(std::uint32_t index, T& out) {
  const bool is_string = token(index).kind == JsonDocument::Kind::kString;
  std::vector<std::string> names;
  for (const T value : kValuesOf<T>) {
    if (is_string && document_.Equals(index, NameOf(value))) {
      out = value;
      return true;
    }
    names.emplace_back(NameOf(value));
  }
  return WrongKind(index, absl::StrCat("one of ", absl::StrJoin(names, ", ")));
}

bool Reader::Read(std::uint32_t index, absl::Duration& out) {
  if (token(index).kind == JsonDocument::Kind::kNumber) {
    if (const std::optional<absl::Duration> parsed = ParseNanoseconds(token(index).text); parsed.has_value()) {
      out = *parsed;
      return true;
    }
  } else if (token(index).kind == JsonDocument::Kind::kString) {
    if (document_.Equals(index, kInfinite)) {
      out = absl::InfiniteDuration();
      return true;
    }
    if (document_.Equals(index, kMinusInfinite)) {
      out = -absl::InfiniteDuration();
      return true;
    }
  }
  return WrongKind(index, "a number of nanoseconds (with .25, .5, .75 or no fraction) or \"infinite\"");
}

bool Reader::Read(std::uint32_t index, std::shared_ptr<const Candidate>& out) {
  if (token(index).kind == JsonDocument::Kind::kNull) return true;
  std::string hash;
  if (!Read(index, hash)) return false;
  absl::StatusOr<std::shared_ptr<const Candidate>> found = (*find_candidate_)(hash);
  if (!found.ok()) {
    world_ = found.status();
    return Fail("cannot be found");
  }
  out = *std::move(found);
  return true;
}

template <typename Alternative>
bool ReadOrder(FieldReader& fields, Order& out) {
  Alternative value;
  Fields(fields, value);
  const auto names = [&value] {
    std::vector<std::string> known = NamesOf(value);
    known.emplace_back("kind");
    return known;
  };
  if (!fields.Finish(names)) return false;
  out = std::move(value);
  return true;
}

bool Reader::Read(std::uint32_t index, Order& out) {
  if (token(index).kind != JsonDocument::Kind::kObject) return WrongKind(index, "an object");
  FieldReader fields(*this, index);
  std::string kind;
  fields("kind", kind);
  if (fields.failed()) return false;
  if (kind == kOrderKinds[0]) return ReadOrder<ExpandOrder>(fields, out);
  if (kind == kOrderKinds[1]) return ReadOrder<EvaluateOrder>(fields, out);
  if (kind == kOrderKinds[2]) return ReadOrder<CancelOrder>(fields, out);
  if (kind == kOrderKinds[3]) return ReadOrder<RelabelOrder>(fields, out);
  std::vector<std::string> known(kOrderKinds.begin(), kOrderKinds.end());
  return FailAt("kind", absl::StrCat("expected one of ", absl::StrJoin(known, ", "), ", got '", kind, "'"));
}

template <typename T>
bool Reader::Read(std::uint32_t index, std::vector<T>& out) {
  if (token(index).kind != JsonDocument::Kind::kArray) return WrongKind(index, "an array");
  for (std::uint32_t element = index + 1; element != token(index).end; element = token(element).end) {
    if (!Read(element, out.emplace_back())) return Prefix(absl::StrCat("[", out.size() - 1, "]"));
  }
  return true;
}

template <typename T>
bool Reader::Read(std::uint32_t index, std::map<std::string, T>& out) {
  if (token(index).kind != JsonDocument::Kind::kObject) return WrongKind(index, "an object");
  for (std::uint32_t key = index + 1; key != token(index).end; key = token(key + 1).end) {
    const std::string name = document_.Unescape(key);
    const auto [place, inserted] = out.try_emplace(name);
    if (!inserted) return FailAt(name, "is given twice");
    if (!Read(key + 1, place->second)) return Prefix(name);
  }
  return true;
}

template <std::size_t Index>
bool ReadBody(FieldReader& fields, EventBody& out) {
  auto& value = out.emplace<Index>();
  Fields(fields, value);
  return fields.Finish([&value] {
    std::vector<std::string> names = NamesOf(value);
    names.insert(names.end(), {"sequence", "time_ns", "event"});
    return names;
  });
}

using BodyReader = bool (*)(FieldReader&, EventBody&);

template <std::size_t... Index>
std::map<std::string, BodyReader, std::less<>> MakeBodyReaders(std::index_sequence<Index...>) {
  std::map<std::string, BodyReader, std::less<>> readers;
  (readers.emplace(EventName(EventBody(std::in_place_index<Index>)), &ReadBody<Index>), ...);
  return readers;
}

const std::map<std::string, BodyReader, std::less<>>& BodyReaders() {
  static const auto* const kReaders =
      new std::map<std::string, BodyReader, std::less<>>(MakeBodyReaders(std::make_index_sequence<std::variant_size_v<EventBody>>()));
  return *kReaders;
}

std::vector<std::string> EventNames() {
  std::vector<std::string> names;
  for (const auto& [name, reader] : BodyReaders()) names.push_back(name);
  return names;
}

absl::StatusOr<Event> ReadEvent(Reader& reader) {
  if (reader.document().token(0).kind != JsonDocument::Kind::kObject) return absl::InvalidArgumentError("expected an object");
  FieldReader fields(reader, 0);
  Event event;
  absl::Duration since_epoch;
  std::string name;
  fields("sequence", event.sequence);
  fields("time_ns", since_epoch);
  fields("event", name);
  if (fields.failed()) return reader.status();
  event.time = absl::UnixEpoch() + since_epoch;
  const auto body = BodyReaders().find(name);
  if (body == BodyReaders().end()) {
    return absl::FailedPreconditionError(absl::StrCat("unknown event '", name, "'", internal::DidYouMean(name, EventNames()),
                                                      "; a newer version of maxkernel may have written it"));
  }
  if (!body->second(fields, event.body)) {
    const absl::Status status = reader.status();
    return absl::Status(status.code(), absl::StrCat("event ", name, ": ", status.message()));
  }
  return event;
}

}  // namespace
}  // namespace store

std::string EventToJson(const Event& event) {
  store::JsonWriter out(store::JsonWriter::BadBytes::kEscape);
  store::FieldWriter writer(out);
  out.BeginObject();
  writer("sequence", event.sequence);
  writer("time_ns", event.time - absl::UnixEpoch());
  out.Key("event");
  out.String(EventName(event.body));
  std::visit([&](const auto& body) { store::Fields(writer, body); }, event.body);
  out.EndObject();
  return std::move(out).Take();
}

absl::StatusOr<Event> EventFromJson(
    std::string_view json,
    const std::function<absl::StatusOr<std::shared_ptr<const Candidate>>(const std::string& content_hash)>& find_candidate) {
  const absl::StatusOr<store::JsonDocument> document = store::JsonDocument::Parse(json);
  if (!document.ok()) return document.status();
  store::Reader reader(*document, &find_candidate);
  return store::ReadEvent(reader);
}

std::string EvaluationToJson(const Evaluation& evaluation) {
  store::JsonWriter out(store::JsonWriter::BadBytes::kReplace);
  store::FieldWriter writer(out);
  writer.Put(evaluation);
  return std::move(out).Take();
}

absl::StatusOr<Evaluation> EvaluationFromJson(std::string_view json) {
  const absl::StatusOr<store::JsonDocument> document = store::JsonDocument::Parse(json);
  if (!document.ok()) return document.status();
  store::Reader reader(*document, nullptr);
  Evaluation evaluation;
  if (!reader.Read(0, evaluation)) return reader.status();
  return evaluation;
}

}  // namespace maxkernel
