#ifndef MAXKERNEL_LIB_LLM_FILE_TEXT_H_
#define MAXKERNEL_LIB_LLM_FILE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace maxkernel::llm {

// A file as lines that keep their own line ends, so that what an edit does not touch stays as it is, byte for byte.
class FileText {
 public:
  explicit FileText(std::string_view text);

  std::size_t size() const { return lines_.size(); }
  const std::string& line(std::size_t index) const { return lines_[index].text; }

  // Replaces `count` lines from `first` on. New lines get the file's usual line end; a file without a line end at its end keeps none.
  void Replace(std::size_t first, std::size_t count, const std::vector<std::string>& lines);

  std::string ToString() const;

 private:
  struct Line {
    std::string text;
    std::string end;  // "\n", "\r\n" or, for a last line, ""
  };

  std::vector<Line> lines_;
  std::string usual_end_ = "\n";
  bool ends_with_line_end_ = true;
};

// Where a block's SEARCH lines occur in a file.
struct SearchMatch {
  enum class Kind { kNone, kUnique, kAmbiguous };
  Kind kind = Kind::kNone;
  std::vector<std::size_t> places;  // first lines, from 0; a few at most
  // What a match with another indent adds to every line, or takes from it.
  std::string added_indent;
  std::string removed_indent;
};

// Exact lines first; if there are none, lines that agree but for trailing blanks and one indent that all of them have more or less.
SearchMatch FindLines(const FileText& file, const std::vector<std::string>& search);

// A block's REPLACE lines with the indent of its match; false if a line lacks the indent that is to be removed.
bool ShiftIndent(const SearchMatch& match, std::vector<std::string>& lines);

// The first line of the part of the file that is most like the lines searched for; size() if nothing is.
std::size_t NearestLines(const FileText& file, const std::vector<std::string>& search);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_FILE_TEXT_H_
