#include <string>

#include <gtest/gtest.h>

#include "broker/metrics/http_message.h"
#include "broker/metrics/metric_text.h"
#include "broker/metrics/metrics_page.h"
#include "broker/metrics/process_stats.h"
#include "broker/metrics/request_metrics.h"
#include "reactor/base/latency.h"

namespace pelton::broker {
namespace {

TEST(LatencyHistogramTest, ATimeGoesBelowTheFirstBoundThatIsNotBelowIt) {
  LatencyHistogram histogram;
  histogram.add(0);
  histogram.add(16'000);  // exactly the first bound
  EXPECT_EQ(histogram.count(0), 2u);
  histogram.add(16'001);
  histogram.add(32'000);
  EXPECT_EQ(histogram.count(1), 2u);
  histogram.add(LatencyHistogram::bound_ns(LatencyHistogram::kBounds - 1));
  EXPECT_EQ(histogram.count(LatencyHistogram::kBounds - 1), 1u);
  histogram.add(LatencyHistogram::bound_ns(LatencyHistogram::kBounds - 1) + 1);
  histogram.add(UINT64_MAX - 1'000);
  EXPECT_EQ(histogram.count(LatencyHistogram::kBounds), 2u);
  EXPECT_EQ(histogram.total(), 7u);
}

TEST(RequestMetricsTest, StagesAddUpToTheTotal) {
  RequestMetrics metrics;
  metrics.record(proto::ApiKey::kFetch, {.begun = 1'000, .returned = 3'000, .answered = 10'000, .queued = 12'000},
                 20'000);
  ApiMetrics fetch = metrics.sample().at(1);
  EXPECT_EQ(fetch.of(Stage::kLocal).sum_ns(), 2'000u);
  EXPECT_EQ(fetch.of(Stage::kRemote).sum_ns(), 7'000u);
  EXPECT_EQ(fetch.of(Stage::kResponseQueue).sum_ns(), 2'000u);
  EXPECT_EQ(fetch.of(Stage::kResponseSend).sum_ns(), 8'000u);
  EXPECT_EQ(fetch.of(Stage::kTotal).sum_ns(), 19'000u);
  EXPECT_EQ(fetch.of(Stage::kTotal).total(), 1u);
}

TEST(RequestMetricsTest, WhatIsAnsweredInsideTheHandlerWaitedForNothing) {
  RequestMetrics metrics;
  metrics.record(proto::ApiKey::kProduce, {.begun = 1'000, .returned = 3'000, .answered = 2'000, .queued = 4'000},
                 5'000);
  ApiMetrics produce = metrics.sample().at(0);
  EXPECT_EQ(produce.of(Stage::kLocal).sum_ns(), 1'000u);
  EXPECT_EQ(produce.of(Stage::kRemote).sum_ns(), 0u);
}

TEST(MetricTextTest, NamesOfClientsCannotBreakALine) {
  MetricText out;
  out.gauge("kafka_groups", "Groups.");
  out.sample({{"group", "a\"b\\c\nd\x01\xff"}, {"topic", "t"}}, uint64_t{7});
  EXPECT_EQ(out.text(),
            "# HELP kafka_groups Groups.\n# TYPE kafka_groups gauge\n"
            "kafka_groups{group=\"a\\\"b\\\\c\\nd??\",topic=\"t\"} 7\n");
}

TEST(MetricTextTest, BucketsOfAHistogramAreCumulative) {
  LatencyHistogram histogram;
  histogram.add(10'000);
  histogram.add(20'000);
  histogram.add(60'000'000'000);
  MetricText out;
  out.histogram("h", "H.");
  out.sample({}, histogram);
  EXPECT_NE(out.text().find("h_bucket{le=\"1.6e-05\"} 1\n"), std::string::npos) << out.text();
  EXPECT_NE(out.text().find("h_bucket{le=\"3.2e-05\"} 2\n"), std::string::npos);
  EXPECT_NE(out.text().find("h_bucket{le=\"+Inf\"} 3\n"), std::string::npos);
  EXPECT_NE(out.text().find("h_count 3\n"), std::string::npos);
}

TEST(HttpMessageTest, ReadsARequestWhenItsHeadIsComplete) {
  EXPECT_FALSE(parse_http("GET /metrics HTTP/1.1\r\nHost: x\r\n"));
  auto get = parse_http("GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(get);
  EXPECT_EQ(get->status, 200);
  EXPECT_EQ(get->request.path, "/metrics");
  EXPECT_FALSE(get->request.head);
  EXPECT_TRUE(parse_http("HEAD / HTTP/1.0\r\n\r\n")->request.head);
}

TEST(HttpMessageTest, TakesALineFeedAlone) {
  EXPECT_FALSE(parse_http("GET /ready HTTP/1.1\nHost: x\n"));
  auto get = parse_http("GET /ready HTTP/1.1\nHost: x\n\n");
  ASSERT_TRUE(get);
  EXPECT_EQ(get->status, 200);
  EXPECT_EQ(get->request.path, "/ready");
}

TEST(HttpMessageTest, RefusesUnsoundFields) {
  EXPECT_EQ(parse_http("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")->status, 200);
  EXPECT_EQ(parse_http("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n")->status, 400);
  EXPECT_EQ(parse_http("GET / HTTP/1.1\r\ncontent-length:\r\n\r\n")->status, 400);
  EXPECT_EQ(parse_http("GET / HTTP/1.1\r\nHost : x\r\n\r\n")->status, 400);
  EXPECT_EQ(parse_http("GET / HTTP/1.1\r\nno colon\r\n\r\n")->status, 400);
}

TEST(HttpMessageTest, RefusesWhatItDoesNotSpeak) {
  EXPECT_EQ(parse_http("POST / HTTP/1.1\r\n\r\n")->status, 405);
  EXPECT_EQ(parse_http("GET /\r\n\r\n")->status, 400);
  EXPECT_EQ(parse_http("GET metrics HTTP/1.1\r\n\r\n")->status, 400);
  EXPECT_EQ(parse_http("\r\n\r\n")->status, 400);
  EXPECT_EQ(parse_http(std::string(kMaxHttpHead, 'a'))->status, 431);
  EXPECT_FALSE(parse_http(std::string(kMaxHttpHead - 1, 'a')));
}

TEST(ProcessStatsTest, TellsOfThisProcess) {
  ProcessStats stats = read_process_stats();
  EXPECT_GT(stats.resident_bytes, 100'000u);
  EXPECT_GE(stats.open_descriptors, 3u);
  EXPECT_GE(stats.threads, 1u);
}

TEST(MetricsPageTest, LagIsFromTheCommittedOffsetToTheHighWatermarkOfAnyShard) {
  ShardSample owner, coordinator;
  coordinator.shard = 1;
  owner.partitions.push_back({.topic = "t", .index = 3, .high_watermark = 100});
  coordinator.offsets.push_back({"g", "t", 3, 40});
  coordinator.offsets.push_back({"g", "t", 4, 40});   // a partition that is not there (any more)
  const ShardSample* shards[] = {&owner, &coordinator};
  std::string page = metrics_page(shards, {.cluster_id = "c", .node_id = 1});
  EXPECT_NE(page.find("kafka_consumergroup_lag{group=\"g\",topic=\"t\",partition=\"3\"} 60\n"), std::string::npos);
  EXPECT_NE(page.find("kafka_consumergroup_current_offset{group=\"g\",topic=\"t\",partition=\"4\"} 40\n"),
            std::string::npos);
  EXPECT_EQ(page.find("kafka_consumergroup_lag{group=\"g\",topic=\"t\",partition=\"4\"}"), std::string::npos);
}

}  // namespace
}  // namespace pelton::broker
