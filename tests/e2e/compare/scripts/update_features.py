"""UpdateFeatures: every level of metadata.version as a change that is only validated, and what is refused. The
level that a broker was formatted with stays."""

VERSION = "metadata.version"
UPGRADE, SAFE, UNSAFE = 1, 2, 3


def run(s):
    for level in (-1, 0, 1, 6, 7, 8, 22, 28, 31, 32, 33, 34, 35, 100, 32767, -32768):
        for allow in (False, True):
            s.call(f"v0 level {level} {allow}", "UpdateFeatures", 0, _old([(VERSION, level, allow)])) \
                if level != 33 else None
        for version in (1, 2):
            for type in (UPGRADE, SAFE, UNSAFE):
                _ask(s, f"v{version} level {level} type {type}", version, [(VERSION, level, type)])
    for version in (1, 2):
        for type in (0, 4, -1):
            _ask(s, f"v{version} type {type}", version, [(VERSION, 33, type)])
        _ask(s, f"v{version} nothing", version, [])
        _ask(s, f"v{version} unknown", version, [("no.such.feature", 1, UPGRADE)])
        _ask(s, f"v{version} unknown deleted", version, [("no.such.feature", 0, SAFE)])
        _ask(s, f"v{version} empty name", version, [("", 1, UPGRADE)])
        _ask(s, f"v{version} good and bad", version, [(VERSION, 33, UPGRADE), ("no.such.feature", 1, UPGRADE)])
        _ask(s, f"v{version} as it is, not only validated", version, [(VERSION, 33, UPGRADE)], validate=False)
    s.call("v0 as it is", "UpdateFeatures", 0, _old([(VERSION, 33, False)]))


def _old(updates):
    return {"FeatureUpdates": [{"Feature": name, "MaxVersionLevel": level, "AllowDowngrade": allow}
                               for name, level, allow in updates]}


def _ask(s, label, version, updates, validate=True):
    s.call(label, "UpdateFeatures", version, {"ValidateOnly": validate, "FeatureUpdates": [
        {"Feature": name, "MaxVersionLevel": level, "UpgradeType": type} for name, level, type in updates]})
