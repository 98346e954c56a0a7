# task: softmax
# expect: rejected
# why: installs a package at import
# unscreened: does_not_compile

import subprocess
import sys

subprocess.run([sys.executable, "-m", "pip", "install", "tokamax"], check=True)


def computation(x):
    return x
