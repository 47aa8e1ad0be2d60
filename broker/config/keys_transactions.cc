// Broker keys: transactions and producer ids.
#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

using namespace key_words;

void producer_id_expiration(BrokerConfig& config, const ConfigValue& value) {
  config.producer_id_expiration_ms = static_cast<int32_t>(value.number);
  config.log_defaults.producer_id_expiration_ms = value.number;
}

constexpr BrokerKey kKeys[] = {
    idle(kTransactions, "add.partitions.to.txn.retry.backoff.max.ms", at_least(kInt, 0), "100", kHigh,
         kReadOnly),
    idle(kTransactions, "add.partitions.to.txn.retry.backoff.ms", at_least(kInt, 1), "20", kHigh, kReadOnly),
    internal(idle(kOther, "producer.id.expiration.check.interval.ms", at_least(kInt, 1), "600000", kLow,
                  kReadOnly)),
    acts("producer.id.expiration.ms", at_least(kInt, 1), "86400000", kLow, kClusterWide,
         "Time after which an idle idempotent producer's sequences are forgotten.",
         producer_id_expiration),
    idle(kTransactions, "transaction.abort.timed.out.transaction.cleanup.interval.ms", at_least(kInt, 1),
         "10000", kLow, kReadOnly),
    idle(kTransactions, "transaction.max.timeout.ms", at_least(kInt, 1), "900000", kHigh, kReadOnly),
    idle(kTransactions, "transaction.partition.verification.enable", any(kBoolean), "true", kLow,
         kClusterWide),
    idle(kTransactions, "transaction.remove.expired.transaction.cleanup.interval.ms", at_least(kInt, 1),
         "3600000", kLow, kReadOnly),
    idle(kTransactions, "transaction.state.log.load.buffer.size", at_least(kInt, 1), "5242880", kHigh,
         kReadOnly),
    idle(kTransactions, "transaction.state.log.min.isr", at_least(kInt, 1), "1", kHigh, kReadOnly),
    idle(kTransactions, "transaction.state.log.num.partitions", at_least(kInt, 1), "50", kHigh, kReadOnly),
    idle(kTransactions, "transaction.state.log.replication.factor", at_least(kShort, 1), "1", kHigh,
         kReadOnly),
    idle(kTransactions, "transaction.state.log.segment.bytes", at_least(kInt, 1), "104857600", kHigh,
         kReadOnly),
    idle(kTransactions, "transaction.two.phase.commit.enable", any(kBoolean), "false", kLow, kReadOnly),
    idle(kTransactions, "transactional.id.expiration.ms", at_least(kInt, 1), "604800000", kHigh, kReadOnly),
};

}  // namespace

std::span<const BrokerKey> transaction_key_table() { return kKeys; }

}  // namespace pelton::broker
