// Text taken for the YAML file of a task, in both layouts: it loads, or it is an error that names the file. The configuration of what loads
// is JSON.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "maxkernel/internal/check.h"
#include "maxkernel/task/load_task.h"
#include "tests/unit/store/temporary_folder.h"

namespace {

using namespace maxkernel;

void Write(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

// The files that the corpus names.
void WritePython(const std::filesystem::path& folder) {
  for (const char* name : {"reference.py", "inputs.py", "baseline.py", "common.py"}) {
    Write(folder / name, "def computation(x): return x\ndef get_inputs(rng): return (), ()\n");
  }
}

void Load(const std::filesystem::path& folder, const std::string& file) {
  const absl::StatusOr<Task> task = LoadTask(folder);
  if (task.ok()) {
    const nlohmann::json json = nlohmann::json::parse(task->configuration);
    MAXKERNEL_CHECK(json["cases"].size() == task->cases.size() && !task->cases.empty());
    MAXKERNEL_CHECK(json["name"] == task->name && !task->name.empty());
    MAXKERNEL_CHECK(task->baseline != nullptr && task->digest.size() == 64);
  } else {
    const bool named = std::string(task.status().message()).find(file) != std::string::npos;
    MAXKERNEL_CHECK(named || absl::IsNotFound(task.status()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TemporaryFolder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* file : {"task.yaml", "kernel_task.yaml"}) {
    const std::filesystem::path task = folder / (std::string(file) + ".folder");
    if (!std::filesystem::exists(task)) WritePython(task);
    Write(task / file, text);
    Load(task, file);
  }
  return 0;
}
