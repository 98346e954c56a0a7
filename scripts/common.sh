# Shared by the scripts beside it; sourced, never run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
name=$(basename "$0")

say() { printf '%s: %s\n' "$name" "$*" >&2; }
die() {
  say "$*"
  exit 2
}
usage_error() {
  say "$*"
  exit 1
}

# The interpreter that has jax: MAXKERNEL_PYTHON, or the private environment that scripts/setup makes.
python_for_runner() {
  if [ -n "${MAXKERNEL_PYTHON:-}" ]; then
    printf '%s\n' "$MAXKERNEL_PYTHON"
  else
    printf '%s\n' "$root/.venv/bin/python"
  fi
}

# configure PRESET: repeats only if the folder was never configured; Ninja notices by itself when a CMake file changes.
configure() {
  if [ ! -f "$root/build/$1/build.ninja" ]; then
    (cd "$root" && cmake --preset "$1") || die "CMake cannot configure the preset $1; its message is above"
  fi
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  local targets=()
  for target in "$@"; do targets+=(--target "$target"); done
  cmake --build "$root/build/$preset" --parallel "$(nproc)" "${targets[@]}" || die "the build of $preset failed; its messages are above"
}
