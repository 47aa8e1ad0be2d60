"""Compares the JSON of one message as Kafka's converter and as our dump write it."""

import base64
import json

SIZE = "SizeInBytes"


def difference(theirs_text, ours_text):
    """The first difference as text, or None."""
    if theirs_text == ours_text:
        return None
    try:
        theirs, ours = json.loads(theirs_text), json.loads(ours_text)
    except ValueError as error:
        return f"no JSON ({error}): {ours_text[:200]}"
    return values("", theirs, ours)


def values(place, theirs, ours):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return objects(place, theirs, ours)
    if isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            return f"{place}: Kafka {len(theirs)} items, ours {len(ours)}"
        pairs = enumerate(zip(theirs, ours))
        return next(filter(None, (values(f"{place}[{i}]", a, b) for i, (a, b) in pairs)), None)
    number = (int, float)
    same_type = type(theirs) is type(ours) or (type(theirs) in number and type(ours) in number)
    if same_type and theirs == ours:
        return None
    return f"{place}: Kafka {theirs!r}, ours {ours!r}"[:400]


def objects(place, theirs, ours):
    for key, value in theirs.items():
        if key.endswith(SIZE) and key not in ours:
            # Of records Kafka's converter tells the size alone; their bytes are compared as bytes.
            name = key.removesuffix(SIZE)
            if not isinstance(ours.get(name), str):
                return f"{place}.{name}: Kafka {value} bytes, ours {ours.get(name)!r}"
            if len(base64.b64decode(ours[name], validate=True)) != value:
                return f"{place}.{name}: Kafka {value} bytes, ours {ours[name]!r}"
            continue
        if key not in ours:
            return f"{place}.{key}: Kafka {value!r}, ours none"[:400]
        text = values(f"{place}.{key}", value, ours[key])
        if text:
            return text
    for key in ours:
        if key not in theirs and key + SIZE not in theirs:
            return f"{place}.{key}: Kafka none, ours {ours[key]!r}"[:400]
    return None
