// KeptRecords: what the metadata log says of quotas, users, tokens, access control and controllers. Nothing
// here acts on it; it is kept as it came, so that a snapshot does not lose it.
//
// Owner: CatalogReplay.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "broker/catalog/metadata_record.h"
#include "reactor/base/bytes.h"

namespace pelton::proto {
struct AccessControlEntryRecord;
struct ClientQuotaRecord;
struct DelegationTokenRecord;
struct RegisterControllerRecord;
struct RemoveAccessControlEntryRecord;
struct RemoveDelegationTokenRecord;
struct RemoveUserScramCredentialRecord;
struct UnregisterControllerRecord;
struct UserScramCredentialRecord;
struct ZkMigrationStateRecord;
}  // namespace pelton::proto

namespace pelton::broker {

class KeptRecords {
 public:
  // `value`: the record, frame included. A later one of the same thing takes the place of the earlier.
  void apply(const proto::AccessControlEntryRecord& record, Bytes value);
  void apply(const proto::ClientQuotaRecord& record, Bytes value);
  void apply(const proto::DelegationTokenRecord& record, Bytes value);
  void apply(const proto::RegisterControllerRecord& record, Bytes value);
  void apply(const proto::UserScramCredentialRecord& record, Bytes value);
  void apply(const proto::ZkMigrationStateRecord& record, Bytes value);
  void apply(const proto::RemoveAccessControlEntryRecord& record, Bytes);
  void apply(const proto::RemoveDelegationTokenRecord& record, Bytes);
  void apply(const proto::RemoveUserScramCredentialRecord& record, Bytes);
  void apply(const proto::UnregisterControllerRecord& record, Bytes);

  // Adds all of them, those of one type together.
  void add_all(MetadataRecords& records) const;

 private:
  using Key = std::pair<int16_t, std::string>;  // record type, whose it is
  void keep(Key key, Bytes value);

  std::map<Key, std::vector<uint8_t>> records_;
};

}  // namespace pelton::broker
