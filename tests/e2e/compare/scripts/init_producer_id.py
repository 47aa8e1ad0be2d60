"""InitProducerId in every version: new ids, bumps of an epoch, transactional ids."""


def run(s):
    # Apache Kafka says "loading" until its first block of ids has come from the controller.
    s.patient("first", "InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 60000},
              lambda answer: answer["ErrorCode"])
    for version in range(6):
        s.call(f"new v{version}", "InitProducerId", version,
               {"TransactionalId": None, "TransactionTimeoutMs": 60000})
    given = s.main.call("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 1})
    s.note("epoch", given["ProducerEpoch"])
    for version in (3, 4, 5):
        s.call(f"with an id v{version}", "InitProducerId", version, {
            "TransactionalId": None, "TransactionTimeoutMs": 1, "ProducerId": given["ProducerId"],
            "ProducerEpoch": given["ProducerEpoch"]})
    s.call("id without an epoch", "InitProducerId", 4, {
        "TransactionalId": None, "TransactionTimeoutMs": 1, "ProducerId": 5, "ProducerEpoch": -1})
    s.call("epoch without an id", "InitProducerId", 4, {
        "TransactionalId": None, "TransactionTimeoutMs": 1, "ProducerId": -1, "ProducerEpoch": 5})
    s.call("timeout zero", "InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 0})
    s.call("empty transactional id", "InitProducerId", 4,
           {"TransactionalId": "", "TransactionTimeoutMs": 60000})
