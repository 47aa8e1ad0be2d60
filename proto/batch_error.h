// Which error a client gets for a batch that was refused: what Apache Kafka answers a Produce with.
#pragma once

#include "proto/batch.h"
#include "proto/error_code.h"

namespace pelton::proto {

constexpr ErrorCode error_code_of(BatchError error) {
  switch (error) {
    // Kafka's log reader calls these corrupt; CORRUPT_MESSAGE lets the client send again.
    case BatchError::kBadLength:
    case BatchError::kBadMagic:
    case BatchError::kCrcMismatch:
      return ErrorCode::kCorruptMessage;

    // Kafka fails on these with -1, an uncaught exception; a client can do more with the real reason.
    case BatchError::kUnknownCodec:
      return ErrorCode::kUnsupportedCompressionType;

    // "Produce requests must have exactly one record batch": less, more or not whole is none of it.
    case BatchError::kTooShort:
    case BatchError::kLengthMismatch:
    case BatchError::kOldMagic:
    // What Kafka's validation of a client's batch refuses.
    case BatchError::kBaseOffsetNotZero:
    case BatchError::kNegativeLastOffsetDelta:
    case BatchError::kBadCount:
    case BatchError::kCountMismatch:
    case BatchError::kControlFromClient:
    case BatchError::kBadSequence:
    case BatchError::kBadRecords:
    // Kafka refuses the request that carries it before it looks at the batch.
    case BatchError::kTransactionalWithoutProducerId:
      return ErrorCode::kInvalidRecord;

    case BatchError::kBadProducerEpoch:
      return ErrorCode::kInvalidProducerEpoch;
  }
  return ErrorCode::kUnknownServerError;
}

}  // namespace pelton::proto
