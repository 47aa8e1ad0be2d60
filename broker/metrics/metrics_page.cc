#include "broker/metrics/metrics_page.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "broker/metrics/metric_text.h"
#include "broker/metrics/process_stats.h"
#include "proto/api.h"

namespace pelton::broker {
namespace {

using Shards = std::span<const ShardSample* const>;

std::string_view api_name(int16_t key) {
  const proto::ApiInfo* api = proto::find_api(key);
  return api == nullptr ? std::string_view("unknown") : api->name;
}

// One number a shard, under one family.
template <class Value>
void per_shard(MetricText& out, Shards shards, Value&& value) {
  for (const ShardSample* shard : shards)
    out.sample({{"shard", fmt::format_int(shard->shard).c_str()}}, value(*shard));
}

void write_requests(MetricText& out, Shards shards) {
  RequestMetrics::ByApi all;
  for (const ShardSample* shard : shards)
    for (const auto& [key, metrics] : shard->requests)
      for (size_t stage = 0; stage < kStages; ++stage) all[key].stages[stage].add(metrics.stages[stage]);
  out.counter("kafka_requests_total", "Requests whose answers have left, by API.");
  for (const auto& [key, metrics] : all)
    out.sample({{"request", api_name(key)}}, metrics.of(Stage::kTotal).total());
  out.histogram("kafka_request_seconds",
                "Time of a request by stage: local, remote, response_queue, response_send, and their total.");
  for (const auto& [key, metrics] : all)
    for (size_t stage = 0; stage < kStages; ++stage)
      out.sample({{"request", api_name(key)}, {"stage", name(static_cast<Stage>(stage))}},
                 metrics.stages[stage]);
}

// Limits of connections are the whole broker's.
void write_listeners(MetricText& out, Shards shards) {
  auto per_listener = [&](auto&& value) {
    for (const ShardSample* shard : shards)
      for (const auto& each : shard->listeners) out.sample({{"listener", each.name}}, value(each));
  };
  uint64_t most = 0, waited = 0;
  for (const ShardSample* shard : shards) {
    most = std::max(most, shard->connections_most);
    waited += shard->connections_waited;
  }
  out.gauge("pelton_connections_limit", "The most connections of clients: max.connections, or what descriptors allow.");
  out.sample({}, most);
  out.gauge("pelton_listener_connections", "Connections of a listener, those that are just coming or going too.");
  per_listener([](const auto& each) { return each.connections; });
  out.gauge("pelton_listener_connections_limit", "The most that pelton_listener_connections may be.");
  per_listener([](const auto& each) { return each.limit; });
  out.gauge("pelton_listener_connections_waiting", "Accepted connections that wait to be let in.");
  per_listener([](const auto& each) { return each.waiting; });
  out.counter("pelton_connections_waited_total", "Connections that had to wait for a place or for their time.");
  out.sample({}, waited);
}

void write_network(MetricText& out, Shards shards) {
  out.gauge("kafka_connections", "Open connections of clients.");
  per_shard(out, shards, [](const ShardSample& s) { return s.open_connections; });
  out.counter("kafka_connections_accepted_total", "Connections accepted.");
  per_shard(out, shards, [](const ShardSample& s) { return s.counters.connections_accepted; });
  write_listeners(out, shards);
  out.counter("pelton_connections_closed_total", "Connections that ended, and those that were refused, by reason.");
  for (const ShardSample* shard : shards)
    for (size_t reason = 0; reason < kCloseReasons; ++reason)
      out.sample({{"shard", fmt::format_int(shard->shard).c_str()}, {"reason", name(static_cast<CloseReason>(reason))}},
                 shard->counters.connections_closed[reason]);
  out.counter("pelton_connections_moved_total", "Connections that moved to the shard their requests go to.");
  per_shard(out, shards, [](const ShardSample& s) { return s.counters.connections_moved_here; });
  out.counter("kafka_network_in_bytes_total", "Bytes of requests.");
  per_shard(out, shards, [](const ShardSample& s) { return s.counters.bytes_in; });
  out.counter("kafka_network_out_bytes_total", "Bytes of answers.");
  per_shard(out, shards, [](const ShardSample& s) { return s.counters.bytes_out; });
  out.counter("pelton_network_out_file_bytes_total", "Those of them that came from segment files.");
  per_shard(out, shards, [](const ShardSample& s) { return s.counters.bytes_from_files; });
  out.gauge("pelton_requests_in_flight", "Requests under way: begun, and their answers have not left.");
  per_shard(out, shards, [](const ShardSample& s) { return s.requests_in_flight; });
  out.gauge("pelton_unsent_answer_bytes", "Memory of answers that their clients have not read.");
  per_shard(out, shards, [](const ShardSample& s) { return s.unsent_bytes; });
  out.gauge("pelton_request_memory_bytes", "Memory of decoded requests, what they wait with, and their answers.");
  per_shard(out, shards, [](const ShardSample& s) { return s.request_memory_used; });
  out.gauge("pelton_request_memory_limit_bytes", "From this on only small requests are begun, one a connection.");
  per_shard(out, shards, [](const ShardSample& s) { return s.request_memory_limit; });
  out.gauge("pelton_buffer_bytes", "Memory in use for large requests and for data read to be sent.");
  per_shard(out, shards, [](const ShardSample& s) { return s.buffer_bytes_used; });
  out.gauge("pelton_buffer_limit_bytes", "What pelton_buffer_bytes passes by one request at most.");
  per_shard(out, shards, [](const ShardSample& s) { return s.buffer_bytes_limit; });
}

void write_shards(MetricText& out, Shards shards) {
  out.counter("pelton_loop_turns_total", "Turns of the shard's loop.");
  per_shard(out, shards, [](const ShardSample& s) { return s.turns; });
  out.counter("pelton_loop_stalls_total", "Turns that took longer than 10 ms.");
  per_shard(out, shards, [](const ShardSample& s) { return s.stalled_turns; });
  out.gauge("pelton_loop_longest_turn_seconds", "The longest turn since the start.");
  per_shard(out, shards, [](const ShardSample& s) { return static_cast<double>(s.longest_turn_ns) / 1e9; });
  out.counter("pelton_messages_total", "Messages sent to other shards.");
  per_shard(out, shards, [](const ShardSample& s) { return s.messages_sent; });
  out.counter("pelton_requests_hopped_total", "Requests, or parts of them, that went to another shard.");
  per_shard(out, shards, [](const ShardSample& s) { return s.counters.requests_hopped; });
}

void write_storage(MetricText& out, Shards shards) {
  out.counter("pelton_log_writes_total", "Writes to segment files.");
  per_shard(out, shards, [](const ShardSample& s) { return s.storage.writes; });
  out.counter("pelton_log_written_bytes_total", "Bytes written to segment files.");
  per_shard(out, shards, [](const ShardSample& s) { return s.storage.bytes_written; });
  out.counter("kafka_log_flushes_total", "Syncs of segment files.");
  per_shard(out, shards, [](const ShardSample& s) { return s.storage.syncs; });
  LatencyHistogram files, file_systems;
  for (const ShardSample* shard : shards) {
    files.add(shard->storage.sync_times);
    file_systems.add(shard->storage.file_system_sync_times);
  }
  out.histogram("kafka_log_flush_seconds", "Time of a sync: of one segment file, or of the whole file system.");
  out.sample({{"covers", "file"}}, files);
  out.sample({{"covers", "file_system"}}, file_systems);
  out.counter("pelton_file_system_syncs_total", "Syncs of the whole file system, for many files at once.");
  per_shard(out, shards, [](const ShardSample& s) { return s.storage.file_system_syncs; });
  out.gauge("kafka_delayed_fetches", "Fetches that wait for data.");
  per_shard(out, shards, [](const ShardSample& s) { return s.delayed_fetches; });
  out.gauge("kafka_fetch_sessions", "Incremental fetch sessions.");
  per_shard(out, shards, [](const ShardSample& s) { return s.fetch_sessions; });
  out.counter("kafka_fetch_session_evictions_total", "Fetch sessions that made room for others.");
  per_shard(out, shards, [](const ShardSample& s) { return s.fetch_session_evictions; });
}

// One family over all partitions.
template <class Value>
void per_partition(MetricText& out, Shards shards, Value&& value) {
  for (const ShardSample* shard : shards)
    for (const PartitionSample& each : shard->partitions)
      out.sample({{"topic", each.topic}, {"partition", fmt::format_int(each.index).c_str()}}, value(each));
}

void write_partitions(MetricText& out, Shards shards) {
  out.gauge("kafka_partitions", "Partitions.");
  per_shard(out, shards, [](const ShardSample& s) { return s.partition_count; });
  out.gauge("kafka_log_size_bytes", "Bytes of a partition's segment files.");
  per_partition(out, shards, [](const PartitionSample& p) { return p.bytes; });
  out.gauge("kafka_log_start_offset", "The first offset of a partition.");
  per_partition(out, shards, [](const PartitionSample& p) { return p.log_start; });
  out.gauge("kafka_log_end_offset", "The offset of a partition's next record.");
  per_partition(out, shards, [](const PartitionSample& p) { return p.log_end; });
  out.gauge("kafka_high_watermark", "The offset that consumers may read up to.");
  per_partition(out, shards, [](const PartitionSample& p) { return p.high_watermark; });
  out.gauge("kafka_last_stable_offset", "The offset that read_committed consumers may read up to.");
  per_partition(out, shards, [](const PartitionSample& p) { return p.last_stable; });
}

void write_groups(MetricText& out, Shards shards) {
  std::map<std::pair<std::string_view, int32_t>, int64_t> ends;
  for (const ShardSample* shard : shards)
    for (const PartitionSample& each : shard->partitions)
      ends[{each.topic, each.index}] = each.high_watermark;
  auto per_offset = [&](auto&& value) {
    for (const ShardSample* shard : shards) {
      for (const OffsetSample& each : shard->offsets) {
        if (auto number = value(each))
          out.sample({{"group", each.group},
                      {"topic", each.topic},
                      {"partition", fmt::format_int(each.partition).c_str()}},
                     *number);
      }
    }
  };
  out.gauge("kafka_groups", "Groups, with and without members.");
  per_shard(out, shards, [](const ShardSample& s) { return s.groups; });
  out.gauge("kafka_consumergroup_current_offset", "The committed offset of a group in a partition.");
  per_offset([](const OffsetSample& each) -> std::optional<int64_t> { return each.offset; });
  out.gauge("kafka_consumergroup_lag", "Records from the committed offset to the high watermark.");
  per_offset([&](const OffsetSample& each) -> std::optional<int64_t> {
    auto end = ends.find({each.topic, each.partition});
    if (end == ends.end()) return std::nullopt;
    return std::max<int64_t>(end->second - each.offset, 0);
  });
  out.gauge("pelton_metrics_left_out", "Partitions and committed offsets beyond the limits of a scrape.");
  per_shard(out, shards, [](const ShardSample& s) { return s.left_out; });
}

void write_process(MetricText& out, const ProcessFacts& facts) {
  ProcessStats stats = read_process_stats();
  out.gauge("pelton_build_info", "1; the labels say what runs.");
  out.sample({{"version", facts.version},
              {"cluster_id", facts.cluster_id},
              {"node_id", fmt::format_int(facts.node_id).c_str()}},
             uint64_t{1});
  out.gauge("process_start_time_seconds", "When the process started, since the epoch.");
  out.sample({}, static_cast<double>(facts.started_ms) / 1e3);
  out.counter("process_cpu_seconds_total", "CPU time of the process.");
  out.sample({}, stats.cpu_seconds);
  out.gauge("process_resident_memory_bytes", "Memory of the process.");
  out.sample({}, stats.resident_bytes);
  out.gauge("process_open_fds", "Open descriptors.");
  out.sample({}, stats.open_descriptors);
  out.gauge("process_max_fds", "The most descriptors the process may open.");
  out.sample({}, stats.max_descriptors);
  out.gauge("process_threads", "Threads, the kernel's io_uring workers among them.");
  out.sample({}, stats.threads);
  out.gauge("pelton_io_workers", "The kernel's io_uring workers of this process.");
  out.sample({}, stats.io_workers);
}

}  // namespace

std::string metrics_page(Shards shards, const ProcessFacts& facts) {
  MetricText out;
  write_process(out, facts);
  write_requests(out, shards);
  write_network(out, shards);
  write_shards(out, shards);
  write_storage(out, shards);
  write_partitions(out, shards);
  write_groups(out, shards);
  return out.take();
}

}  // namespace pelton::broker
