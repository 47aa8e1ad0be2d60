// HttpListener: the metrics listener (pelton.metrics.listener): pages for a scraper and for probes.
//
//   /metrics  the metrics of all shards, in the text format of Prometheus
//   /health   200 while every shard turns; 503 with the shard that does not within a second
//   /ready    as /health, and 503 while the broker stops
//
// Owner shard: the catalog's. Lifetime: from start-up until the loops have ended. Its clients cost the
// shard little: about kMaxConnections at once, one scrape under way whose page all who ask meanwhile get. When all
// places are taken whoever came first and has not asked yet makes room: idle clients keep no probe out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/metrics/http_connection.h"
#include "broker/metrics/scrape.h"
#include "broker/service/liveness.h"
#include "reactor/io.h"

namespace pelton::broker {

class HttpListener {
 public:
  static constexpr size_t kMaxConnections = 32;

  // `shards`: all of them, by id.
  HttpListener(BrokerShard& here, std::vector<BrokerShard*> shards, ProcessFacts facts);
  ~HttpListener();

  // Binds; before the loops run. Whose port it is should have been asked before (posix::check_free).
  Result<SocketAddress> listen(const SocketAddress& address);
  // On the owner shard: no more clients; those that are there are closed.
  void stop();
  // After stop(): nothing is pending any more.
  bool idle() const;

  // --- for HttpConnection ---
  void serve(HttpConnection& connection, const HttpParsed& parsed);
  void remove(HttpConnection& connection);

 private:
  void on_accept(int32_t result);
  void on_accept_again();
  void make_room();
  void on_page(Scrape::Page page);
  void on_look();
  void check_health();
  static void answer_text(HttpConnection& connection, int status, std::string text);

  BrokerShard& here_;
  SocketFd socket_ = -1;
  AcceptOp accept_;
  Timer accept_again_;
  bool stopped_ = false;
  IntrusiveList<HttpConnection, HttpTag> connections_;
  size_t count_ = 0;
  Scrape scrape_;
  IntrusiveList<HttpConnection, HttpWaitTag> want_page_;
  Liveness liveness_;
  Timer look_;
  uint64_t look_until_ns_ = 0;
  IntrusiveList<HttpConnection, HttpWaitTag> want_health_;
};

}  // namespace pelton::broker
