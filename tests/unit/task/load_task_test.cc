#include "maxkernel/task/load_task.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/task/task_folder_writer.h"

namespace maxkernel {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr char kShortest[] = "name: t\ncases:\n  - name: one\n";

std::string ErrorOf(std::string_view yaml) { return TaskFolderWriter().WriteTask(yaml).Error(); }

// With a further top-level key, in line 4.
std::string ErrorWith(const std::string& line) { return ErrorOf(kShortest + line + "\n"); }

// With a further key of the case, in line 4.
std::string CaseErrorWith(const std::string& line) { return ErrorOf(std::string(kShortest) + "    " + line + "\n"); }

Task Loaded(const TaskFolderWriter& folder) {
  absl::StatusOr<Task> task = folder.Load();
  INFO(task.status());
  REQUIRE(task.ok());
  return *std::move(task);
}

TEST_CASE("The shortest task gets every default") {
  TaskFolderWriter folder;
  folder.WriteTask(kShortest);
  const Task task = Loaded(folder);
  CHECK(task.name == "t");
  CHECK(task.description == "");
  CHECK(task.chip == "v6e");
  CHECK(task.valid == std::vector<Fidelity>{Fidelity::kInterpret, Fidelity::kLower});
  CHECK(task.score == Fidelity::kEstimate);
  REQUIRE(task.cases.size() == 1);
  CHECK(task.cases[0].name == "one");
  CHECK((!task.cases[0].hidden && task.cases[0].test && task.cases[0].score));
  CHECK(task.baseline->files() == std::vector<SourceFile>{{"kernel.py", kReference}});
  CHECK(task.files == std::vector<SourceFile>{{"reference.py", kReference}, {"inputs.py", kInputs}});
  CHECK(task.configuration ==
        R"({"layout":"task","name":"t","description":"","reference":"reference.py","inputs":"inputs.py","baseline":"reference.py",)"
        R"("files":[],"chip":"v6e","fidelity":{"valid":["interpret","lower"],"score":"estimate"},"tolerance":null,)"
        R"("cases":[{"name":"one","params":{},"hidden":false,"test":true,"score":true,"tolerance":null}],)"
        R"("compare":"exact_order","donate":[],"allow":[]})");
}

TEST_CASE("Every setting arrives") {
  TaskFolderWriter folder;
  folder.WriteTask(R"(
name: soft-max_2
description: Softmax, "quoted" & früh.
reference: math/ref.py
inputs: make.py
baseline: start.py
files: [common.py, more/tiles.py]
chip: v5p
fidelity: {valid: [cpu, aot], score: device}
tolerance: [{atol: 1e-5, rtol: 0}, {rtol: .5, atol: 2}]
cases:
  - name: Square.1
    params: {rows: 1024, ratio: 1.0, mode: "12", flag: true, nothing: null, shape: [1, 2], more: {a: x}, hex: 0x10, minus: -3, text: yes}
    tolerance: {atol: 0.5, rtol: 1}
  - {name: h, hidden: true, score: false}
  - {name: big, test: false}
compare: sorted_last_axis
donate: [0, 2]
allow: [aliasing, unchecked_access]
)");
  for (const char* file : {"math/ref.py", "start.py"}) folder.Write(file, std::string("# ") + file + "\n" + kReference);
  folder.Write("make.py", kInputs).Write("common.py", "A = 1\n").Write("more/tiles.py", "");
  const Task task = Loaded(folder);
  CHECK(task.score == Fidelity::kDevice);
  CHECK(task.valid == std::vector<Fidelity>{Fidelity::kCpu, Fidelity::kAot});
  CHECK(task.baseline->entry().text == std::string("# start.py\n") + kReference);
  std::vector<std::string> paths;
  for (const SourceFile& file : task.files) paths.push_back(file.path);
  CHECK(paths == std::vector<std::string>{"math/ref.py", "make.py", "start.py", "common.py", "more/tiles.py"});
  const Json json = Json::parse(task.configuration);
  CHECK(json["description"] == "Softmax, \"quoted\" & früh.");
  CHECK(json["tolerance"].dump() == R"([{"atol":1e-05,"rtol":0.0},{"atol":2.0,"rtol":0.5}])");
  CHECK(json["cases"][0]["params"].dump() ==
        R"({"rows":1024,"ratio":1.0,"mode":"12","flag":true,"nothing":null,"shape":[1,2],"more":{"a":"x"},"hex":16,"minus":-3,"text":"yes"})");
  CHECK(json["cases"][0]["tolerance"].dump() == R"({"atol":0.5,"rtol":1.0})");
  CHECK(json["cases"][1].dump() == R"({"name":"h","params":{},"hidden":true,"test":true,"score":false,"tolerance":null})");
  CHECK(json["donate"].dump() == "[0,2]");
  CHECK(json["allow"].dump() == R"(["aliasing","unchecked_access"])");
  CHECK(json["files"].dump() == R"(["common.py","more/tiles.py"])");
  CHECK((task.cases[1].hidden && !task.cases[1].score && task.cases[2].score && !task.cases[2].test));
}

TEST_CASE("Wrong settings are named with file, line and field") {
  CHECK(ErrorWith("toleranse: {}") == "task.yaml:4: field toleranse: unknown key; did you mean 'tolerance'?");
  CHECK_THAT(ErrorWith("zzz: 1"), Contains("task.yaml:4: field zzz: unknown key; the known ones are name, description"));
  CHECK(ErrorWith("name: u") == "task.yaml:4: field name: is given twice");
  CHECK(ErrorWith("chip: \"v 6\"") == "task.yaml:4: field chip: expected the name of a chip, such as v6e, got 'v 6'");
  CHECK(ErrorWith("description: [1]") == "task.yaml:4: field description: expected a text, got a list");
  CHECK(ErrorWith("fidelity: {score: estimat}") ==
        "task.yaml:4: field fidelity.score: expected one of estimate, cpu, device, got 'estimat'; did you mean 'estimate'?");
  CHECK(ErrorWith("fidelity: {score: lower}") == "task.yaml:4: field fidelity.score: expected one of estimate, cpu, device, got 'lower'");
  CHECK(ErrorWith("fidelity: {valid: [lower]}") ==
        "task.yaml:4: field fidelity.valid: expected at least one of interpret, cpu and device: nothing else compares outputs");
  CHECK(ErrorWith("fidelity: {valid: [cpu, cpu]}") == "task.yaml:4: field fidelity.valid[1]: is given twice");
  CHECK(ErrorWith("fidelity: {valid: interpret}") == "task.yaml:4: field fidelity.valid: expected a list of fidelities, got 'interpret'");
  CHECK(ErrorWith("fidelity: {vald: [cpu]}") == "task.yaml:4: field fidelity.vald: unknown key; did you mean 'valid'?");
  CHECK(ErrorWith("tolerance: 1e-3") == "task.yaml:4: field tolerance: expected {atol: number, rtol: number}, got '1e-3'");
  CHECK(ErrorWith("tolerance: {atol: 1e-3}") == "task.yaml:4: field tolerance: 'rtol' is missing; expected a number of 0 or more");
  CHECK(ErrorWith("tolerance: {atol: -1, rtol: 0}") == "task.yaml:4: field tolerance.atol: expected a number of 0 or more, got '-1'");
  CHECK(ErrorWith("tolerance: {atol: .nan, rtol: 0}") == "task.yaml:4: field tolerance.atol: expected a number of 0 or more, got '.nan'");
  CHECK(ErrorWith("tolerance: [{atol: 1, rtol: \"2\"}]") == "task.yaml:4: field tolerance[0].rtol: expected a number of 0 or more, got '2'");
  CHECK(ErrorWith("tolerance: []") == "task.yaml:4: field tolerance: expected {atol, rtol}, or a list of such pairs, one per output; the list is empty");
  CHECK(ErrorWith("compare: sorted") == "task.yaml:4: field compare: expected one of exact_order, sorted_last_axis, got 'sorted'");
  CHECK(ErrorWith("donate: [-1]") == "task.yaml:4: field donate[0]: expected the position of an argument, from 0, got '-1'");
  CHECK(ErrorWith("donate: 0") == "task.yaml:4: field donate: expected a list of argument positions, such as [0], got '0'");
  CHECK(ErrorWith("allow: [aliassing]") ==
        "task.yaml:4: field allow[0]: expected one of aliasing, unchecked_access, got 'aliassing'; did you mean 'aliasing'?");
  CHECK(ErrorWith("files: [../x.py]") ==
        "task.yaml:4: field files[0]: expected the path of a Python file inside the task's folder, such as common.py, got '../x.py'");
  CHECK_THAT(ErrorWith("reference: /etc/passwd"), Contains("task.yaml:4: field reference: expected the path of a Python file"));
  CHECK_THAT(ErrorWith("files: [kernel.py]"), Contains("'kernel.py' is what a candidate's own file is called"));
  CHECK_THAT(ErrorWith("files: [inputs.py]"), Contains("is given as reference, inputs or baseline already"));
  CHECK(ErrorOf("cases:\n  - name: a\n") == "task.yaml:1: 'name' is missing; expected a name for the task");
  CHECK(ErrorOf("nmae: x\ncases:\n  - name: a\n") == "task.yaml:1: field nmae: unknown key; did you mean 'name'?");
  CHECK(ErrorOf("name: Soft Max\ncases:\n  - name: a\n") ==
        "task.yaml:1: field name: expected lower case letters, digits, _ and -, at most 100, got 'Soft Max'");
  CHECK(ErrorOf("name: t\n") == "task.yaml:1: 'cases' is missing; expected a list of at least one case");
  CHECK(ErrorOf("name: t\ncases: []\n") == "task.yaml:2: field cases: expected 1 to 1000 cases, got 0");
  CHECK(ErrorOf("name: t\ncase:\n  - name: a\n") == "task.yaml:3: field case: unknown key; did you mean 'cases'?");
}

TEST_CASE("Wrong cases are named with their place") {
  CHECK(CaseErrorWith("hidden: yes") == "task.yaml:4: field cases[0].hidden: expected true or false, got 'yes'");
  CHECK(CaseErrorWith("hiden: true") == "task.yaml:4: field cases[0].hiden: unknown key; did you mean 'hidden'?");
  CHECK(CaseErrorWith("params: [1]") == "task.yaml:4: field cases[0].params: expected a mapping of keyword arguments of get_inputs, got a list");
  CHECK_THAT(CaseErrorWith("params: {rng: 1}"), Contains("field cases[0].params: 'rng' is the generator"));
  CHECK_THAT(CaseErrorWith("params: {a-b: 1}"), Contains("'a-b' is no Python name"));
  CHECK(CaseErrorWith("params: {a: .inf}") == "task.yaml:4: field cases[0].params.a: expected a finite number, got '.inf'");
  CHECK_THAT(CaseErrorWith("params: {a: 1, a: 2}"), Contains("task.yaml:4: field cases[0].params.a: is given twice"));
  CHECK_THAT(CaseErrorWith("score: false"), Contains("task.yaml:3: field cases: none is timed"));
  CHECK_THAT(CaseErrorWith("test: false"), Contains("task.yaml:3: field cases: none is tested"));
  CHECK_THAT(CaseErrorWith("{"), Contains("task.yaml:5: not valid YAML"));
  CHECK_THAT(ErrorOf("name: t\ncases:\n  - {name: a, test: false, score: false}\n"), Contains("is neither tested nor timed"));
  CHECK(ErrorOf("name: t\ncases:\n  - params: {}\n") == "task.yaml:3: field cases[0]: 'name' is missing; expected a name for the case");
  CHECK(ErrorOf("name: t\ncases:\n  - name: a\n  - name: b/c\n") ==
        "task.yaml:4: field cases[1].name: expected letters, digits, _, - and ., at most 100, got 'b/c'");
  CHECK(ErrorOf("name: t\ncases:\n  - name: a\n  - name: a\n") == "task.yaml:4: field cases[1]: another case is called 'a' too");
}

TEST_CASE("What is no YAML mapping is refused with its line") {
  CHECK_THAT(ErrorOf("name: t\n  bad indent: [\n"), Contains("task.yaml:2: not valid YAML"));
  CHECK(ErrorOf("") == "task.yaml:1: expected a mapping of settings, beginning with name, got nothing");
  CHECK(ErrorOf("- a\n") == "task.yaml:1: expected a mapping of settings, beginning with name, got a list");
  CHECK(ErrorOf("name: a\n---\nname: b\n") == "task.yaml: expected one YAML document, got several");
  CHECK(ErrorOf(",") == "task.yaml: expected one YAML document, got several");
  CHECK(ErrorOf("name: t\n# \xff\n") == "task.yaml:2: is not UTF-8");
  CHECK_THAT(ErrorOf("{? [a]: b}"), Contains("expected a name as the key"));
}

TEST_CASE("Deep, wide and cyclic values end in an error") {
  CHECK_THAT(ErrorOf(std::string(100'000, '[')), Contains("task.yaml:1"));
  CHECK_THAT(CaseErrorWith("params: {a: " + std::string(80, '[') + std::string(80, ']') + "}"), Contains("nested too deeply"));
  CHECK_THAT(CaseErrorWith("params: &a {b: *a}"), Contains("task.yaml:4"));
  std::string doubling = "name: t\ncases:\n  - name: one\n    params:\n      a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    doubling += "      a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  CHECK_THAT(ErrorOf(doubling), Contains("is too large; expected at most 10000 values"));
}

TEST_CASE("Missing files and definitions are named") {
  TaskFolderWriter folder;
  CHECK_THAT(folder.Error(absl::StatusCode::kNotFound), Contains("holds neither task.yaml nor kernel_task.yaml"));
  folder.Write("task.yaml", kShortest);
  CHECK(folder.Error(absl::StatusCode::kNotFound) == "reference.py: No such file or directory");
  folder.Write("reference.py", "def compute(x):\n    return x\n");
  CHECK(folder.Error() ==
        "reference.py: defines no computation; expected `def computation(*dynamic_args, *static_args):` at the start of a line");
  folder.Write("reference.py", kReference);
  CHECK(folder.Error(absl::StatusCode::kNotFound) == "inputs.py: No such file or directory");
  folder.Write("inputs.py", "get_inputs\n");
  CHECK(folder.Error() == "inputs.py: defines no get_inputs; expected `def get_inputs(rng, **params):` at the start of a line");
  folder.Write("inputs.py", kInputs);
  CHECK(folder.Load().ok());
  folder.Write("baseline.py", "");
  CHECK_THAT(folder.Error(), Contains("baseline.py: defines no computation"));
  folder.Write("baseline.py", kReference).Write("task.yaml", std::string(kShortest) + "files: [gone.py]\n");
  CHECK(folder.Error(absl::StatusCode::kNotFound) == "gone.py: No such file or directory");
  folder.Write("task.yaml", std::string(kShortest) + "baseline: gone.py\n");
  CHECK(folder.Error(absl::StatusCode::kNotFound) == "gone.py: No such file or directory");
  folder.Write("task.yaml", std::string(kShortest) + "baseline: folder.py\n").Write("folder.py/x", "");
  CHECK(folder.Error() == "folder.py: expected a file");
  CHECK(LoadTask(folder.path() / "none").status().code() == absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(LoadTask(folder.path() / "task.yaml").status().message()), Contains("expected the folder that holds task.yaml"));
}

TEST_CASE("The usual ways to define a function at the top level are seen") {
  for (const char* text : {"def computation(x): pass", "import a\n\ndef  computation (x):\n  pass", "computation = jax.jit(f)", "computation=f",
                           "computation: Any = f", "from common import computation", "from common import a, computation # x",
                           "from common import (\n    a,\n    computation,\n)", "from common import *", "import x as computation",
                           "class computation:\n  pass", "from x import y as computation"}) {
    TaskFolderWriter folder;
    folder.WriteTask(kShortest).Write("reference.py", text);
    INFO(text);
    CHECK(folder.Load().ok());
  }
  for (const char* text : {"", "def computations(x): pass", "  def computation(x): pass", "# def computation(x)", "x = computation",
                           "computation == f", "computation", "import computation_x", "from computation import a", "def my_computation(x): pass",
                           "from a import (\n  b,\n)\n  computation", "from a import b # computation"}) {
    TaskFolderWriter folder;
    folder.WriteTask(kShortest).Write("reference.py", text);
    INFO(text);
    CHECK_FALSE(folder.Load().ok());
  }
}

TEST_CASE("The digest follows files and settings, not comments") {
  const auto digest = [](const TaskFolderWriter& folder) { return Loaded(folder).digest; };
  TaskFolderWriter folder;
  folder.WriteTask(kShortest);
  const std::string first = digest(folder);
  CHECK(first.size() == 64);
  CHECK(digest(folder.WriteTask(std::string("# a comment\n") + kShortest)) == first);
  CHECK(digest(folder.WriteTask(std::string(kShortest) + "chip: v5p\n")) != first);
  CHECK(digest(folder.WriteTask(kShortest).Write("inputs.py", std::string(kInputs) + "\n")) != first);
  CHECK(digest(folder.WriteTask(kShortest)) == first);
  CHECK(digest(folder.Write("unrelated.txt", "x")) == first);
}

TEST_CASE("The reference system's layout loads") {
  TaskFolderWriter folder;
  folder.Write("reference.py", kReference).Write("kernel_task.yaml", "task_id: 1p Flash/Attention\ndescription: d\ninput_gen_code: |\n  def get_inputs():\n    return (), ()\n");
  Task task = Loaded(folder);
  CHECK(task.name == "1p_Flash_Attention");
  CHECK(task.configuration ==
        R"({"layout":"kernel_task","name":"1p_Flash_Attention","description":"d","reference":"reference.py","inputs":"","baseline":"reference.py",)"
        R"("files":[],"chip":"v6e","fidelity":{"valid":["interpret","lower"],"score":"estimate"},"tolerance":null,)"
        R"("cases":[{"name":"case_0","params":{"index":0},"hidden":false,"test":true,"score":true,"tolerance":null,"all_cases":true}],)"
        R"("compare":"exact_order","donate":[],"allow":[],"input_gen_code":"def get_inputs():\n  return (), ()\n","atol":null,"rtol":null})");
  REQUIRE(task.cases.size() == 1);
  CHECK(task.files == std::vector<SourceFile>{{"reference.py", kReference}});

  folder.Write("optimized.py", std::string("# fast\n") + kReference);
  folder.Write("kernel_task.yaml", "input_gen_code: 'def get_inputs(): return (), ()'\natol: [1e-3, 2]\nsort_before_compare: true\n");
  task = Loaded(folder);
  CHECK(task.name == folder.path().filename().string());
  CHECK(task.baseline->entry().text == std::string("# fast\n") + kReference);
  const Json json = Json::parse(task.configuration);
  CHECK(json["atol"].dump() == "[0.001,2.0]");
  CHECK(json["rtol"].dump() == "0.001");
  CHECK(json["compare"] == "sorted_last_axis");
  CHECK(json["baseline"] == "optimized.py");
}

TEST_CASE("Mistakes in the reference system's layout are named") {
  const auto error = [](std::string_view yaml) { return TaskFolderWriter().Write("reference.py", kReference).Write("kernel_task.yaml", yaml).Error(); };
  const std::string code = "input_gen_code: 'def get_inputs(): return (), ()'\n";
  CHECK(error("task_id: a\n") == "kernel_task.yaml:1: 'input_gen_code' is missing; expected Python source that defines get_inputs()");
  CHECK(error("task_id: a\ninput_gen_code: |\n  def inputs():\n    pass\n") ==
        "kernel_task.yaml:2: field input_gen_code: defines no get_inputs; expected `def get_inputs():` at the start of a line");
  CHECK(error(code + "atol: []\n") == "kernel_task.yaml:2: field atol: expected a number, or a list with one number per input set; the list is empty");
  CHECK(error(code + "atol: [1, x]\n") == "kernel_task.yaml:2: field atol[1]: expected a number of 0 or more, got 'x'");
  CHECK(error(code + "a_tol: 1\n") == "kernel_task.yaml:2: field a_tol: unknown key; did you mean 'atol'?");
  CHECK(error(code + "sort_before_compare: 1\n") == "kernel_task.yaml:2: field sort_before_compare: expected true or false, got '1'");
}

TEST_CASE("Every task of the library and the test data loads") {
  int tasks = 0;
  const fs::path root = MAXKERNEL_SOURCE_FOLDER;
  for (const char* parent : {"tasks", "tests/data"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(root / parent)) {
      if (!fs::exists(entry.path() / "task.yaml") && !fs::exists(entry.path() / "kernel_task.yaml")) continue;
      const absl::StatusOr<Task> task = LoadTask(entry.path());
      INFO(entry.path() << ": " << task.status());
      CHECK(task.ok());
      ++tasks;
    }
  }
  CHECK(tasks >= 9);
}

}  // namespace
}  // namespace maxkernel
