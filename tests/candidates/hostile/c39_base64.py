# task: softmax
# expect: rejected
# why: source text in base64, run through exec
# unscreened: crashed

import base64

exec(base64.b64decode("aW1wb3J0IG9zOyBvcy5fZXhpdCgwKQ=="))


def computation(x):
    return x
