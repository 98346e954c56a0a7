"""Pytrees as JSON: tuples, lists, dicts with string keys, None and leaves, and nothing that would need code to rebuild."""


class UnsupportedTree(ValueError):
    pass


def flatten(value, path=""):
    """(structure as JSON, leaves, a path for each leaf). A named tuple counts as a tuple. Dicts are in sorted order."""
    if value is None:
        return {"kind": "none"}, [], []
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise UnsupportedTree(f"{path or 'the value'} is a dict with the key {key!r}; only strings can be keys")
        keys = sorted(value)
        parts = [flatten(value[key], f"{path}[{key!r}]") for key in keys]
        node = {"kind": "dict", "keys": keys}
    elif isinstance(value, (tuple, list)):
        parts = [flatten(child, f"{path}[{index}]") for index, child in enumerate(value)]
        node = {"kind": "list" if isinstance(value, list) else "tuple"}
    else:
        return {"kind": "leaf"}, [value], [path]
    node["children"] = [part[0] for part in parts]
    return node, [leaf for part in parts for leaf in part[1]], [p for part in parts for p in part[2]]


def unflatten(node, leaves):
    """The inverse of flatten; takes exactly the leaves it needs."""
    leaves = iter(leaves)
    value = _build(node, leaves)
    if next(leaves, None) is not None:
        raise ValueError("more leaves than the tree has places")
    return value


def _build(node, leaves):
    kind = node["kind"]
    if kind == "none":
        return None
    if kind == "leaf":
        return next(leaves)
    children = [_build(child, leaves) for child in node["children"]]
    if kind == "dict":
        return dict(zip(node["keys"], children))
    return children if kind == "list" else tuple(children)


def describe(node):
    """A tree in words: (leaf, {'a': leaf})."""
    kind = node["kind"]
    if kind == "none":
        return "None"
    if kind == "leaf":
        return "array"
    children = [describe(child) for child in node["children"]]
    if kind == "dict":
        return "{" + ", ".join(f"{key!r}: {child}" for key, child in zip(node["keys"], children)) + "}"
    if kind == "list":
        return "[" + ", ".join(children) + "]"
    return "(" + ", ".join(children) + ("," if len(children) == 1 else "") + ")"
