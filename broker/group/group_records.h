// The records of groups and offsets in __consumer_offsets, in the formats and versions that Apache
// Kafka 4.4 writes: OffsetCommit value 4 (1 when the commit has an expiry of its own),
// GroupMetadata value 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "broker/coordinator/record_buffer.h"
#include "broker/group/classic_group.h"
#include "broker/group/offset_store.h"

namespace pelton::broker::group {

using coordinator::RecordBuffer;

// Member id -> assignment.
using Assignments = std::map<std::string, Blob, std::less<>>;

// A group as it is, with the assignment each member has.
void add_group_metadata(RecordBuffer& records, const ClassicGroup& group);
// The same with these assignments; a member without one gets an empty one.
void add_group_metadata(RecordBuffer& records, const ClassicGroup& group,
                        const Assignments& assignments);
// A group that was just created.
void add_new_group(RecordBuffer& records, const ClassicGroup& group);
void add_group_tombstone(RecordBuffer& records, std::string_view group_id);

void add_offset_commit(RecordBuffer& records, std::string_view group_id, std::string_view topic,
                       int32_t partition, const CommittedOffset& offset);
void add_offset_tombstone(RecordBuffer& records, std::string_view group_id, std::string_view topic,
                          int32_t partition);

}  // namespace pelton::broker::group
