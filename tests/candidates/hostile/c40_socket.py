# task: softmax
# expect: rejected
# why: asks the network for help
# unscreened: does_not_compile

import socket


def _ask():
    with socket.create_connection(("192.0.2.1", 80), timeout=5) as connection:
        return connection.recv(1)


_answer = _ask()


def computation(x):
    return x
