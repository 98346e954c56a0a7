#include "maxkernel/task/new_task.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

struct Template {
  const char* file;
  const char* text;  // TASK_NAME stands for the name
};

constexpr std::array<Template, 4> kTemplates{{
    {"task.yaml", R"(# What to optimise. docs/reference/task-format.md describes every setting.
name: TASK_NAME
description: Row-wise softmax of a float32 matrix.

# A chip of the hardware file; `maxkernel doctor` lists them.
chip: v6e

fidelity:
  valid: [interpret, lower]   # all of these must pass for a candidate to be correct; add aot where libtpu is installed
  score: estimate             # gives the times: estimate needs no TPU, device needs one

# How far from the reference an output may be. Without this line it follows from the reference's own float32 error.
tolerance: {atol: 1.0e-7, rtol: 5.0e-5}

# params are the keyword arguments of get_inputs in inputs.py.
cases:
  - name: small               # tested, not timed: interpret mode is slow
    params: {rows: 256, columns: 1024}
    score: false
  - name: ragged              # sizes that no block divides; hidden from whoever proposes candidates
    params: {rows: 100, columns: 777}
    hidden: true
    score: false
  - name: large               # timed, not tested
    params: {rows: 4096, columns: 4096}
    test: false
)"},
    {"reference.py", R"("""Row-wise softmax: the definition of right. Plain JAX that is easy to believe; no candidate may import it."""

import jax


def computation(x):
    return jax.nn.softmax(x, axis=-1)
)"},
    {"inputs.py", R"(import numpy as np


def get_inputs(rng, rows, columns):
    """(dynamic_args, static_args) of `computation`.

    Everything random must come from `rng`: its seed is fresh for each evaluation and no candidate sees it. Static arguments
    follow the arrays, are hashable Python values and become compile-time constants.
    """
    x = 3.0 * rng.standard_normal((rows, columns), dtype=np.float32)
    return (x,), ()
)"},
    {"baseline.py", R"("""Where a search starts, and what its scores are relative to: a block of whole rows per grid step."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

# The autotune operator tries the listed values.
BLOCK_ROWS = 8  # tunable: 8, 16, 32, 64, 128, 256


def _kernel(x_ref, out_ref):
    x = x_ref[...]
    exponentials = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    out_ref[...] = exponentials / jnp.sum(exponentials, axis=-1, keepdims=True)


def computation(x):
    rows, columns = x.shape
    block_rows = min(BLOCK_ROWS, rows)
    spec = pl.BlockSpec((block_rows, columns), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
)"},
}};

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

absl::Status Failed(const fs::path& path, const std::error_code& error) {
  const std::string message = absl::StrCat("making task ", path.string(), ": ", error.message());
  if (error == std::errc::permission_denied || error == std::errc::read_only_file_system || error == std::errc::operation_not_permitted) {
    return absl::PermissionDeniedError(message);
  }
  if (error == std::errc::no_space_on_device || error == std::errc::file_too_large) return absl::ResourceExhaustedError(message);
  if (error == std::errc::not_a_directory || error == std::errc::no_such_file_or_directory) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

absl::Status WriteFile(const fs::path& file, const std::string& text) {
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (stream) return absl::OkStatus();
  return Failed(file, std::error_code(errno == 0 ? EIO : errno, std::generic_category()));
}

absl::Status WriteFiles(const fs::path& folder, const std::string& name) {
  for (const Template& entry : kTemplates) {
    if (absl::Status status = WriteFile(folder / entry.file, absl::StrReplaceAll(entry.text, {{"TASK_NAME", name}})); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status NewTask(const fs::path& folder) {
  const fs::path target = (folder.has_filename() ? folder : folder.parent_path()).lexically_normal();
  const std::string name = target.filename().string();
  if (name.empty() || name.size() > 100 || !std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return absl::InvalidArgumentError(
        absl::StrCat("task name '", name, "': expected lower case letters, digits, _ and -, at most 100"));
  }
  std::error_code error;
  if (fs::exists(target, error) && !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    return absl::AlreadyExistsError(absl::StrCat("task folder ", target.string(), " exists; choose another name or remove it"));
  }
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
  if (error) return Failed(target.parent_path(), error);
  // Beside the target and then renamed, so that a failure leaves nothing behind.
  const fs::path unfinished = target.parent_path() / absl::StrCat(".", name, ".new");
  fs::remove_all(unfinished, error);
  if (!fs::create_directory(unfinished, error)) return Failed(unfinished, error);
  absl::Status status = WriteFiles(unfinished, name);
  if (status.ok()) {
    fs::rename(unfinished, target, error);
    if (error) status = Failed(target, error);
  }
  if (!status.ok()) fs::remove_all(unfinished, error);
  return status;
}

}  // namespace maxkernel
