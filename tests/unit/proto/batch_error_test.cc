#include "proto/batch_error.h"

#include <gtest/gtest.h>

namespace pelton::proto {
namespace {

TEST(BatchError, ClientsGetKafkasCodes) {
  EXPECT_EQ(error_code_of(BatchError::kCrcMismatch), ErrorCode::kCorruptMessage);
  EXPECT_EQ(error_code_of(BatchError::kBadLength), ErrorCode::kCorruptMessage);
  EXPECT_EQ(error_code_of(BatchError::kBadMagic), ErrorCode::kCorruptMessage);
  EXPECT_EQ(error_code_of(BatchError::kOldMagic), ErrorCode::kInvalidRecord);
  EXPECT_EQ(error_code_of(BatchError::kTooShort), ErrorCode::kInvalidRecord);
  EXPECT_EQ(error_code_of(BatchError::kCountMismatch), ErrorCode::kInvalidRecord);
  EXPECT_EQ(error_code_of(BatchError::kControlFromClient), ErrorCode::kInvalidRecord);
  EXPECT_EQ(error_code_of(BatchError::kUnknownCodec), ErrorCode::kUnsupportedCompressionType);
}

// Every error has a code and a text of its own.
TEST(BatchError, NoneIsForgotten) {
  for (int i = 0; i <= static_cast<int>(BatchError::kBadRecords); ++i) {
    EXPECT_NE(error_code_of(static_cast<BatchError>(i)), ErrorCode::kUnknownServerError) << i;
    EXPECT_NE(to_string(static_cast<BatchError>(i)), "?") << i;
  }
}

}  // namespace
}  // namespace pelton::proto
