#include "maxkernel/llm/edit.h"

#include <chrono>

#include <catch2/catch.hpp>

#include "lib/llm/reply_parser.h"

namespace maxkernel {
namespace {

using Catch::Contains;

constexpr char kKernel[] =
    "import jax\n"
    "\n"
    "BLOCK = 8\n"
    "\n"
    "def _kernel(x_ref, o_ref):\n"
    "    x = x_ref[...]\n"
    "    y = x * 2\n"
    "    o_ref[...] = y\n"
    "\n"
    "def computation(x):\n"
    "    y = x * 2\n"
    "    return y\n";

Candidate Kernel(std::string_view text = kKernel) { return *Candidate::FromText("kernel.py", text); }

std::string Block(const std::string& search, const std::string& replace, const std::string& before = "") {
  return before + "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
}

// The entry's text after the reply; a failure of the test if it was not applied.
std::string Applied(const Candidate& parent, const std::string& reply) {
  const EditResult result = ApplyReply(parent, reply);
  if (result.candidate == nullptr) return "FAILED: " + result.failures.at(0).reason;
  return result.candidate->entry().text;
}

std::string Changed(std::string from, const std::string& what, const std::string& to) {
  return from.replace(from.find(what), what.size(), to);
}

// The reason of the only failure.
std::string Reason(const Candidate& parent, const std::string& reply) {
  const EditResult result = ApplyReply(parent, reply);
  if (result.candidate != nullptr) return "APPLIED: " + result.candidate->entry().text;
  if (result.failures.size() != 1) return "FAILURES: " + std::to_string(result.failures.size());
  return result.failures[0].reason;
}

TEST_CASE("a block replaces the lines that it quotes") {
  CHECK(Applied(Kernel(), Block("BLOCK = 8\n", "BLOCK = 16\n")) == Changed(kKernel, "BLOCK = 8", "BLOCK = 16"));
}

TEST_CASE("lines are matched whole") {
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = \n", "BLOCK = 16\n")), Contains("matches nothing in kernel.py"));
}

TEST_CASE("a SEARCH text with two places is ambiguous, and both are named") {
  CHECK_THAT(Reason(Kernel(), Block("    y = x * 2\n", "    y = x + x\n")), Contains("lines 7, 11"));
}

TEST_CASE("another indent is taken over") {
  SECTION("less than the file's") {
    CHECK(Applied(Kernel(), Block("x = x_ref[...]\ny = x * 2\n", "x = x_ref[...]\n\ny = x + x\n")) ==
          Changed(kKernel, "    y = x * 2\n    o_ref", "\n    y = x + x\n    o_ref"));
  }
  SECTION("more than the file's") {
    CHECK(Applied(Kernel(), Block("      BLOCK = 8\n", "      BLOCK = 16\n      OTHER = 1\n")) == Changed(kKernel, "BLOCK = 8", "BLOCK = 16\nOTHER = 1"));
  }
  SECTION("but not if it differs from line to line") {
    CHECK_THAT(Reason(Kernel(), Block("x = x_ref[...]\n  y = x * 2\n", "pass\n")), Contains("matches nothing"));
  }
  SECTION("and only if the place is then unique") {
    CHECK_THAT(Reason(Kernel(), Block("y = x * 2\n", "y = x + x\n")), Contains("not unique"));
  }
  SECTION("and if REPLACE has it too") {
    CHECK_THAT(Reason(Kernel(), Block("      BLOCK = 8\n", "BLOCK = 16\n")), Contains("indent"));
  }
}

TEST_CASE("trailing blanks do not matter") {
  CHECK(Applied(Kernel(), Block("BLOCK = 8   \n", "BLOCK = 16\n")) == Changed(kKernel, "BLOCK = 8", "BLOCK = 16"));
}

TEST_CASE("the file's line ends are kept") {
  const std::string reply = Block("BLOCK = 8\n", "BLOCK = 16\nMORE = 1\n");
  std::string crlf_reply;
  for (const char c : reply) crlf_reply += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(Applied(Kernel(), crlf_reply) == Changed(kKernel, "BLOCK = 8", "BLOCK = 16\nMORE = 1"));
  CHECK(Applied(Kernel("import jax\r\nBLOCK = 8\r\nx = 1\r\n"), reply) == "import jax\r\nBLOCK = 16\r\nMORE = 1\r\nx = 1\r\n");
}

TEST_CASE("a missing line end at the end stays missing") {
  CHECK(Applied(Kernel("a = 1\nb = 2"), Block("b = 2\n", "b = 3\nc = 4\n")) == "a = 1\nb = 3\nc = 4");
  CHECK(Applied(Kernel("a = 1\nb = 2"), Block("b = 2\n", "")) == "a = 1");
  CHECK(Applied(Kernel("a = 1\nb = 2"), Block("a = 1\n", "a = 2\n")) == "a = 2\nb = 2");
}

TEST_CASE("an empty REPLACE deletes lines and leaves none") {
  CHECK(Applied(Kernel(), Block("    x = x_ref[...]\n    y = x * 2\n    o_ref[...] = y\n", "    pass\n") + Block("import jax\n\n", "")) ==
        "BLOCK = 8\n\ndef _kernel(x_ref, o_ref):\n    pass\n\ndef computation(x):\n    y = x * 2\n    return y\n");
}

TEST_CASE("an empty SEARCH is an error") { CHECK_THAT(Reason(Kernel(), Block("", "x = 1\n")), Contains("SEARCH text is empty")); }

TEST_CASE("a block that does not end is not applied") {
  CHECK_THAT(Reason(Kernel(), "<<<<<<< SEARCH\nBLOCK = 8\n=======\nBLOCK = 16\n"), Contains("unterminated"));
  CHECK_THAT(Reason(Kernel(), "<<<<<<< SEARCH\nBLOCK = 8\n"), Contains("unterminated"));
  CHECK_THAT(Reason(Kernel(), "<<<<<<< SEARCH\nBLOCK = 8\n" + Block("BLOCK = 8\n", "BLOCK = 16\n")), Contains("unterminated"));
  CHECK_THAT(Reason(Kernel(), "<<<<<<< SEARCH\nBLOCK = 8\n>>>>>>> REPLACE\n"), Contains("no ======= divider"));
}

TEST_CASE("two dividers are ambiguous, other rules are text") {
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = 8\n=======\n", "BLOCK = 16\n")), Contains("2 ======= dividers"));
  CHECK(Applied(Kernel("a = 1\n# =======\n  =======\n==========\n"), Block("# =======\n  =======\n==========\n", "b = 2\n")) == "a = 1\nb = 2\n");
}

TEST_CASE("markers have five to nine marks, in any mixture") {
  for (const int opening : {5, 6, 7, 9}) {
    const std::string reply = std::string(static_cast<std::size_t>(opening), '<') + " SEARCH\nBLOCK = 8\n======\nBLOCK = 16\n>>>>>>>>> REPLACE\n";
    CHECK(Applied(Kernel(), reply) == Changed(kKernel, "BLOCK = 8", "BLOCK = 16"));
  }
  for (const char* reply : {"<<<< SEARCH\nBLOCK = 8\n=======\nBLOCK = 16\n>>>> REPLACE\n", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> branch\n",
                            "  <<<<<<< SEARCH\nBLOCK = 8\n=======\nBLOCK = 16\n>>>>>>> REPLACE\n", "<<<<<<<SEARCH\nBLOCK = 8\n", "k<<<g,b>>>();\n<<<g, b>>>();\n",
                            "text = '<<<<<<< SEARCH'\n"}) {
    CHECK_THAT(Reason(Kernel(), reply), Contains("no edit found"));
  }
}

TEST_CASE("fences around and inside blocks do no harm") {
  const std::string block = Block("BLOCK = 8\n", "BLOCK = 16\n");
  const std::string expected = Changed(kKernel, "BLOCK = 8", "BLOCK = 16");
  CHECK(Applied(Kernel(), "```\nSure:\n" + block + "```\n") == expected);
  CHECK(Applied(Kernel(), "```python\n" + block + "```\nDone.\n") == expected);
  CHECK(Applied(Kernel("a = 1\n'''\n```\n'''\n"), Block("```\n", "~~~\n")) == "a = 1\n'''\n~~~\n'''\n");
}

TEST_CASE("prose around blocks becomes the rationale") {
  const EditResult result = ApplyReply(Kernel(), "Larger blocks help.\n\nkernel.py\n```python\n" + Block("BLOCK = 8\n", "BLOCK = 16\n") +
                                                     "```\nThen double buffering:\n" + Block("import jax\n", "import jax.numpy\n") + "That is all.\n");
  REQUIRE(result.candidate != nullptr);
  CHECK(result.rationale == "Larger blocks help.\n\nThen double buffering:\nThat is all.");
}

TEST_CASE("a block's file is resolved, never guessed") {
  const Candidate two = *Candidate::Create({{"kernel.py", kKernel}, {"lib/common.py", "VALUE = 1\n"}});
  const std::string block = Block("VALUE = 1\n", "VALUE = 2\n");
  for (const char* name : {"lib/common.py\n", "**lib/common.py**\n", "# lib/common.py\n", "`lib/common.py`:\n", "lib/common.py:\n\n",
                           "lib/common.py\n```python\n", "```python lib/common.py\n", "```lib/common.py\n", "```python title=\"lib/common.py\"\n",
                           "```python\nlib/common.py\n", "### `lib/common.py`\n"}) {
    INFO(name);
    const EditResult result = ApplyReply(two, name + block);
    REQUIRE(result.candidate != nullptr);
    CHECK(result.candidate->files()[1].text == "VALUE = 2\n");
  }
  CHECK_THAT(Reason(two, block), Contains("names no file") && Contains("kernel.py, lib/common.py"));
  CHECK_THAT(Reason(two, "common.py\n" + block), Contains("there is no file \"common.py\""));
  CHECK_THAT(Reason(Kernel(), "path/to/file.py\n" + Block("BLOCK = 8\n", "BLOCK = 16\n")), Contains("there is no file"));
  CHECK_THAT(Reason(Kernel(), "../kernel.py\n" + Block("BLOCK = 8\n", "BLOCK = 16\n")), Contains("there is no file"));
}

TEST_CASE("several files can be edited at once") {
  const Candidate two = *Candidate::Create({{"kernel.py", kKernel}, {"common.py", "VALUE = 1\n"}});
  const EditResult result = ApplyReply(two, Block("VALUE = 1\n", "VALUE = 2\n", "common.py\n") + Block("BLOCK = 8\n", "BLOCK = 16\n", "kernel.py\n"));
  REQUIRE(result.candidate != nullptr);
  CHECK(result.candidate->files()[0].text == Changed(kKernel, "BLOCK = 8", "BLOCK = 16"));
  CHECK(result.candidate->files()[1].text == "VALUE = 2\n");
}

TEST_CASE("edits that change nothing are failures") {
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = 8\n", "BLOCK = 8\n")), Contains("changes nothing"));
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = 8\n", "BLOCK = 8  \n")), Contains("change nothing"));
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = 8\n", "BLOCK = 16\n") + Block("BLOCK = 16\n", "BLOCK = 8\n")), Contains("change nothing"));
  CHECK_THAT(Reason(Kernel(), std::string("```python\n") + kKernel + "```\n"), Contains("change nothing"));
}

TEST_CASE("blocks apply in order, on the text that earlier ones made") {
  CHECK(Applied(Kernel(), Block("BLOCK = 8\n", "BLOCK = 16\nMORE = 1\n") + Block("MORE = 1\n", "MORE = 2\n")) ==
        Changed(kKernel, "BLOCK = 8", "BLOCK = 16\nMORE = 2"));
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = 8\n", "BLOCK = 16\n") + Block("BLOCK = 8\n", "BLOCK = 32\n")),
             Contains("edit block 1 has changed the text"));
}

TEST_CASE("nothing is applied if anything fails, and all failures are reported") {
  const EditResult result = ApplyReply(Kernel(), Block("BLOCK = 8\n", "BLOCK = 16\n") + Block("nowhere\n", "x\n") +
                                                     Block("elsewhere\n", "y\n") + "<<<<<<< SEARCH\nopen\n");
  CHECK(result.candidate == nullptr);
  REQUIRE(result.failures.size() == 3);
  CHECK(result.failures[0].block == 2);
  CHECK(result.failures[1].block == 3);
  CHECK(result.failures[2].block == 4);
  CHECK(result.failures[0].search == "nowhere\n");
}

TEST_CASE("an edit that is there already is told apart") {
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = 4\n", "BLOCK = 8\n")), Contains("already there"));
}

TEST_CASE("frozen text stays frozen") {
  const Candidate fenced = Kernel("a = 1\n# EVOLVE-BLOCK-START\nb = 2\n# EVOLVE-BLOCK-END\nc = 3\n");
  CHECK(Applied(fenced, Block("b = 2\n", "b = 3\nd = 4\n")) == "a = 1\n# EVOLVE-BLOCK-START\nb = 3\nd = 4\n# EVOLVE-BLOCK-END\nc = 3\n");
  for (const std::string& reply :
       {Block("a = 1\n", "a = 2\n"), Block("b = 2\n# EVOLVE-BLOCK-END\n", "b = 3\n"), Block("b = 2\n", "# EVOLVE-BLOCK-START\nb = 3\n"),
        Block("b = 2\n", "# EVOLVE-BLOCK-END\nx = 1\n# EVOLVE-BLOCK-START\n"), Block("# EVOLVE-BLOCK-START\n", ""),
        std::string("```\nb = 3\n```\n")}) {
    INFO(reply);
    CHECK_THAT(Reason(fenced, reply), Contains("EVOLVE-BLOCK"));
  }
}

TEST_CASE("the answer is parsed, not the thoughts before it") {
  const std::string block = Block("BLOCK = 8\n", "BLOCK = 16\n");
  CHECK_THAT(Reason(Kernel(), "<think>\n" + block + "</think>\nI am not sure."), Contains("no edit found"));
  CHECK_THAT(Reason(Kernel(), "<think>\n" + block), Contains("no edit found"));
  CHECK(Applied(Kernel(), "<think>hm</think>\n" + block) == Changed(kKernel, "BLOCK = 8", "BLOCK = 16"));
}

TEST_CASE("code that was left out is refused") {
  for (const char* line : {"    # ... rest of the kernel", "# ... (unchanged)", "...", "# existing code here", "    # The rest of the code remains unchanged"}) {
    INFO(line);
    CHECK_THAT(Reason(Kernel(), Block("BLOCK = 8\n", std::string("BLOCK = 16\n") + line + "\n")), Contains("left out"));
    CHECK_THAT(Reason(Kernel(), std::string("```python\n") + line + "\n" + kKernel + "x = 1\n```\n"), Contains("left out"));
  }
  CHECK(Applied(Kernel("# ... as before\na = 1\n"), Block("# ... as before\na = 1\n", "# ... as before\na = 2\n")) == "# ... as before\na = 2\n");
  CHECK(Applied(Kernel(), Block("    o_ref[...] = y\n", "    o_ref[...] = y + x_ref[0, ...]\n")) ==
        Changed(kKernel, "o_ref[...] = y", "o_ref[...] = y + x_ref[0, ...]"));
}

TEST_CASE("tabs are not blanks") {
  CHECK_THAT(Reason(Kernel(), Block("\tx = x_ref[...]\n    y = x * 2\n", "pass\n")), Contains("matches nothing"));
}

TEST_CASE("characters that only look right are named") {
  CHECK_THAT(Reason(Kernel("a = 'x'\nb = 2\n"), Block("b = 2\na = \xE2\x80\x98x'\n", "c\n")), Contains("U+2018") && Contains("line 2"));
  CHECK_THAT(Reason(Kernel(), Block("BLOCK\xC2\xA0= 8\n", "BLOCK = 16\n")), Contains("U+00A0"));
}

TEST_CASE("patches are named as what they are") {
  CHECK_THAT(Reason(Kernel(), "--- a/kernel.py\n+++ b/kernel.py\n@@ -1 +1 @@\n-a\n+b\n"), Contains("unified diffs are not understood"));
  CHECK_THAT(Reason(Kernel(), "*** Begin Patch\n*** Update File: kernel.py\n*** End Patch\n"), Contains("patches"));
}

TEST_CASE("replies without an edit are told what is missing") {
  CHECK_THAT(Reason(Kernel(), ""), Contains("no edit found"));
  CHECK_THAT(Reason(Kernel(), "I would make the blocks larger."), Contains("no edit found"));
  CHECK_THAT(Reason(Kernel(), "&lt;&lt;&lt;&lt;&lt;&lt;&lt; SEARCH\nBLOCK = 8\n"), Contains("HTML-escaped"));
}

TEST_CASE("bytes that are no text are refused") {
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = 8\n", "BLOCK = '\xFF'\n")), Contains("not UTF-8"));
  CHECK_THAT(Reason(Kernel(), Block("BLOCK = 8\n", std::string("BLOCK = 9\0\n", 11))), Contains("not UTF-8"));
  CHECK_THAT(Reason(Kernel(), "```\nx = '\xC0\x80'\n```\n"), Contains("not UTF-8"));
}

TEST_CASE("a fenced block can be the whole file") {
  const std::string fresh = "import jax\n\ndef computation(x):\n    return x + x\n";
  for (const std::string& reply : {"```python\n" + fresh + "```\n", "Here it is:\n\n```\n" + fresh + "```", "~~~python\n" + fresh + "~~~\n",
                                   "````\n" + fresh + "````  \n", "```python\n" + fresh + "`````\n", "kernel.py\n```\n" + fresh + "```\n",
                                   "```python title=kernel.py\n" + fresh + "```\n", "```\nkernel.py\n" + fresh + "```\n", "```c++\n" + fresh + "```\n"}) {
    INFO(reply);
    CHECK(Applied(Kernel(), reply) == fresh);
  }
  CHECK(Applied(Kernel(), "````\n" + fresh + "TEXT = '''\n```\n'''\n````\n") == fresh + "TEXT = '''\n```\n'''\n");
  CHECK_THAT(Reason(Kernel(), "```python\n" + fresh), Contains("never closed"));
  CHECK_THAT(Reason(Kernel(), "```python\nx = 1\n```\n"), Contains("does not define computation"));
}

TEST_CASE("of several fenced blocks the one that is meant is taken, or none") {
  const std::string fresh = "def computation(x):\n    return x + x\n";
  const std::string other = "```\ny = 1\n```\n";
  CHECK(Applied(Kernel(), other + "```\n" + fresh + "```\n") == fresh);
  CHECK(Applied(Kernel(), "```\n" + fresh + "z = 1\n```\nor\n\nkernel.py\n```\n" + fresh + "```\n") == fresh);
  CHECK_THAT(Reason(Kernel(), "```\n" + fresh + "```\nor\n```\n" + fresh + "z = 1\n```\n"), Contains("2 fenced blocks"));
  CHECK_THAT(Reason(Kernel(), other + other), Contains("0 of them define"));
}

TEST_CASE("limits hold") {
  CHECK_THAT(Reason(Kernel(), std::string(llm::kMaximumReply + 1, 'x')), Contains("longer than"));
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += Block("BLOCK = 8\n", "BLOCK = 8\n");
  const auto started = std::chrono::steady_clock::now();
  const EditResult result = ApplyReply(Kernel(), many);
  CHECK(result.candidate == nullptr);
  CHECK_THAT(result.failures.front().reason, Contains("more than 200"));
  const std::string line(1 << 20, 'x');
  CHECK_THAT(Reason(Kernel(line + "\n" + kKernel), Block(line + "y\n", "z\n")), Contains("matches nothing"));
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(10));
}

TEST_CASE("failures are described so that they can be mended") {
  const EditResult result = ApplyReply(Kernel(), Block("    x = x_reff[...]\n    y = x * 3\n", "    pass\n"));
  const std::string message = DescribeFailures(Kernel(), result);
  CHECK_THAT(message, Contains("Block 1 (kernel.py): the SEARCH text matches nothing in kernel.py.") && Contains("  x = x_reff[...]") &&
                          Contains("6|     x = x_ref[...]") && Contains("None of your edits was applied"));
}

TEST_CASE("many failures are described briefly") {
  std::string reply;
  for (int i = 0; i < 50; ++i) reply += Block("nowhere" + std::string(1000, 'x') + "\n", "x\n");
  const std::string message = DescribeFailures(Kernel(), ApplyReply(Kernel(), reply));
  CHECK(message.size() < 8000);
  CHECK_THAT(message, Contains("And 40 more"));
}

TEST_CASE("paths are read from lines") {
  CHECK(llm::PathOnLine("**a/b.py**:") == "a/b.py");
  CHECK(llm::PathOnLine("## `kernel.py`") == "kernel.py");
  CHECK(llm::PathOnLine("in kernel.py:").empty());
  CHECK(llm::PathOnLine("Done.").empty());
  CHECK(llm::PathOnLine("Here:").empty());
  CHECK(llm::PathOnLine("version 1.2").empty());
  CHECK(llm::PathOnLine("1.2").empty());
  CHECK(llm::PathOnLine("").empty());
}

}  // namespace
}  // namespace maxkernel
