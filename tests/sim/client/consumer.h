// Consumer: reads all partitions of one topic with long polls, in fetch sessions or without, and tells the
// model what it was shown. After each loss of its connection it goes on where it was, or reads again from
// the beginning, or from anywhere between.
#pragma once

#include <vector>

#include "proto/messages/fetch.h"
#include "tests/sim/client/client.h"

namespace pelton::sim {

class Consumer : public Client {
 public:
  Consumer(Context& context, std::string name, size_t topic);

 private:
  struct Position {
    int64_t next = 0;
    int64_t in_session = -1;  // what the session's partition says; -1: not in it
  };

  void work() override;
  void choose_positions();
  void fetch();
  void on_answer(const proto::FetchResponse& response, const std::vector<Model::Moment>& sent);
  // False: the connection was given up, or the run has failed.
  bool on_partition(const proto::FetchResponse::PartitionData& data, const Model::Moment& sent);
  bool on_records(int32_t partition, Bytes records, int64_t high_watermark, const Model::Moment& sent);

  size_t topic_;
  int16_t version_ = 0;   // drawn for each connection
  bool sessions_ = false;
  int32_t session_id_ = 0;
  int32_t session_epoch_ = -1;
  std::vector<Position> positions_;
};

}  // namespace pelton::sim
