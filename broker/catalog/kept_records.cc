#include "broker/catalog/kept_records.h"

#include <algorithm>

#include <fmt/format.h>

#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

std::string user(std::string_view name, int8_t mechanism) { return fmt::format("{}/{}", mechanism, name); }

// The entity's parts in any order.
std::string quota(const proto::ClientQuotaRecord& record) {
  std::vector<std::string> parts;
  for (const auto& part : record.entity) {
    std::string name = part.entity_name ? fmt::format("={}", *part.entity_name) : std::string();
    parts.push_back(fmt::format("{}:{}{}", part.entity_type.size(), part.entity_type, name));
  }
  std::ranges::sort(parts);
  std::string text = fmt::format("{}:{}", record.key.size(), record.key);
  for (const std::string& part : parts) text += fmt::format("/{}:{}", part.size(), part);
  return text;
}

}  // namespace

void KeptRecords::keep(Key key, Bytes value) { records_[std::move(key)].assign(value.begin(), value.end()); }

void KeptRecords::apply(const proto::AccessControlEntryRecord& record, Bytes value) {
  keep({record.kRecordType, record.id.to_string()}, value);
}

void KeptRecords::apply(const proto::ClientQuotaRecord& record, Bytes value) {
  Key key{record.kRecordType, quota(record)};
  if (record.remove) {
    records_.erase(key);
  } else {
    keep(std::move(key), value);
  }
}

void KeptRecords::apply(const proto::DelegationTokenRecord& record, Bytes value) {
  keep({record.kRecordType, std::string(record.token_id)}, value);
}

void KeptRecords::apply(const proto::RegisterControllerRecord& record, Bytes value) {
  keep({record.kRecordType, std::to_string(record.controller_id)}, value);
}

void KeptRecords::apply(const proto::UserScramCredentialRecord& record, Bytes value) {
  keep({record.kRecordType, user(record.name, record.mechanism)}, value);
}

void KeptRecords::apply(const proto::ZkMigrationStateRecord& record, Bytes value) {
  keep({record.kRecordType, {}}, value);
}

void KeptRecords::apply(const proto::RemoveAccessControlEntryRecord& record, Bytes) {
  records_.erase({proto::AccessControlEntryRecord::kRecordType, record.id.to_string()});
}

void KeptRecords::apply(const proto::RemoveDelegationTokenRecord& record, Bytes) {
  records_.erase({proto::DelegationTokenRecord::kRecordType, std::string(record.token_id)});
}

void KeptRecords::apply(const proto::RemoveUserScramCredentialRecord& record, Bytes) {
  records_.erase({proto::UserScramCredentialRecord::kRecordType, user(record.name, record.mechanism)});
}

void KeptRecords::apply(const proto::UnregisterControllerRecord& record, Bytes) {
  records_.erase({proto::RegisterControllerRecord::kRecordType, std::to_string(record.controller_id)});
}

void KeptRecords::add_all(MetadataRecords& records) const {
  for (const auto& [key, value] : records_) records.add_value(value);
}

}  // namespace pelton::broker
