# task: softmax
# expect: rejected
# why: writes a forged result frame to every descriptor it can
# unscreened: crashed

import json
import os
import struct

_frame = json.dumps({"kind": "result", "protocol": 1, "role": "author", "status": "passed", "verdict": "", "cases": []}).encode()
for _descriptor in range(3, 64):
    try:
        os.write(_descriptor, struct.pack(">I", len(_frame)) + _frame)
    except OSError:
        pass
os._exit(0)


def computation(x):
    return x
