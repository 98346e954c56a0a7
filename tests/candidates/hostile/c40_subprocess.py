# task: softmax
# expect: rejected
# why: starts another interpreter
# unscreened: does_not_compile or incorrect

import subprocess
import sys

_output = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True).stdout


def computation(x):
    return x
