"""ApiVersions in every version: the ranges of the APIs both brokers have, errors, features' shape."""

# What Pelton serves; further APIs join this list with their handlers.
_SERVED = [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 27, 32, 33, 35, 37, 42, 43, 44, 45, 46,
           47, 55, 57, 60, 61, 74, 75]


def run(s):
    for version in range(6):
        body = {} if version < 3 else {"ClientSoftwareName": "apache-kafka-java",
                                       "ClientSoftwareVersion": "4.4.0"}
        answer = s.main.call("ApiVersions", version, body)
        ranges = {row["ApiKey"]: (row["MinVersion"], row["MaxVersion"]) for row in answer["ApiKeys"]}
        s.note(f"error v{version}", answer["ErrorCode"])
        s.note(f"ranges v{version}", {str(key): ranges.get(key) for key in _SERVED})
        s.note(f"throttle v{version}", answer.get("ThrottleTimeMs"))
    for name, software, number in (("empty name", "", "1"), ("bad name", "a b", "1"),
                                   ("bad version", "a", "!"), ("good", "a.b-c", "1.2-x")):
        connection = s.connect()
        answer = connection.call("ApiVersions", 3, {"ClientSoftwareName": software,
                                                    "ClientSoftwareVersion": number})
        s.note(f"software {name}", answer["ErrorCode"])
    cluster = s.main.call("Metadata", 12, {"Topics": []})["ClusterId"]
    for name, values in (("own cluster", {"ClusterId": cluster, "NodeId": 1}),
                         ("other cluster", {"ClusterId": "AAAAAAAAAAAAAAAAAAAAAA", "NodeId": 1}),
                         ("other node", {"ClusterId": cluster, "NodeId": 77}),
                         ("cluster alone", {"ClusterId": cluster}), ("node alone", {"NodeId": 1})):
        connection = s.connect()
        answer = connection.call("ApiVersions", 5, {"ClientSoftwareName": "a",
                                                    "ClientSoftwareVersion": "1", **values})
        s.note(f"v5 {name}", (answer["ErrorCode"], 0 < len(answer["ApiKeys"])))
