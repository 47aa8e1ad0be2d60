#include "broker/metrics/http_listener.h"

#include <utility>

#include <fmt/format.h>

namespace pelton::broker {
namespace {

constexpr int kBacklog = 64;
constexpr std::string_view kPlain = "text/plain; charset=utf-8";
constexpr std::string_view kExposition = "text/plain; version=0.0.4; charset=utf-8";
// A scrape of more series than this would cost the scraper more than it tells.
constexpr size_t kMaxPartitions = 10'000;
constexpr size_t kMaxOffsets = 20'000;
constexpr uint64_t kAcceptAgainNs = 100'000'000;
constexpr uint64_t kLookEveryNs = 1'000'000;
constexpr uint64_t kHealthNs = 1'000'000'000;

std::vector<Shard*> shards_of(const std::vector<BrokerShard*>& all) {
  std::vector<Shard*> shards;
  for (BrokerShard* each : all) shards.push_back(&each->shard);
  return shards;
}

}  // namespace

HttpListener::HttpListener(BrokerShard& here, std::vector<BrokerShard*> shards, ProcessFacts facts)
    : here_(here),
      accept_(Completion::bind<&HttpListener::on_accept>(this)),
      accept_again_(Timer::bind<&HttpListener::on_accept_again>(this)),
      scrape_(shards, here.shard.id(), std::move(facts), this,
              [](void* self, Scrape::Page page) { static_cast<HttpListener*>(self)->on_page(std::move(page)); }),
      liveness_(shards_of(shards)),
      look_(Timer::bind<&HttpListener::on_look>(this)) {}

HttpListener::~HttpListener() { CHECK(connections_.empty(), "connections outlive their listener"); }

Result<SocketAddress> HttpListener::listen(const SocketAddress& address) {
  Io& io = here_.shard.io();
  auto socket = io.listen(address, kBacklog);
  if (!socket) return std::unexpected(socket.error());
  socket_ = *socket;
  auto bound = io.local_address(socket_);
  if (!bound) return bound;
  io.accept(socket_, accept_);
  return bound;
}

void HttpListener::on_accept(int32_t result) {
  if (result < 0) {
    // Out of descriptors, most likely, which the broker's own listeners tell.
    if (!stopped_ && !accept_.done.pending())
      here_.shard.loop().timers().start(accept_again_, here_.shard.loop().now_ns() + kAcceptAgainNs);
    return;
  }
  // Who made room is gone a turn later; a burst within one turn has its bound too.
  if (stopped_ || count_ >= 2 * kMaxConnections) return here_.shard.io().close(result);
  if (count_ >= kMaxConnections) make_room();
  auto* connection = new HttpConnection(*this, here_.shard.loop(), result);
  connections_.push_back(*connection);
  ++count_;
  connection->start();
}

void HttpListener::on_accept_again() { here_.shard.io().accept(socket_, accept_); }

void HttpListener::make_room() {
  HttpConnection* oldest = nullptr;
  for (HttpConnection& each : connections_) {
    if (each.closed()) continue;
    if (each.reading()) return each.close();
    if (oldest == nullptr) oldest = &each;
  }
  if (oldest != nullptr) oldest->close();
}

void HttpListener::serve(HttpConnection& connection, const HttpParsed& parsed) {
  if (parsed.status == 405) return answer_text(connection, 405, "only GET and HEAD\n");
  if (parsed.status != 200) return answer_text(connection, parsed.status, "not understood\n");
  std::string_view path = parsed.request.path;
  if (path == "/metrics") {
    want_page_.push_back(connection);
    if (!scrape_.running()) scrape_.start({.partitions = kMaxPartitions, .offsets = kMaxOffsets});
    return;
  }
  if (path == "/ready" && here_.stopping) return answer_text(connection, 503, "stopping\n");
  if (path == "/health" || path == "/ready") {
    want_health_.push_back(connection);
    return check_health();
  }
  if (path == "/") return answer_text(connection, 200, "/metrics\n/health\n/ready\n");
  answer_text(connection, 404, "not here; see /\n");
}

void HttpListener::on_page(Scrape::Page page) {
  while (!want_page_.empty()) {
    HttpConnection& connection = want_page_.front();
    want_page_.pop_front();
    connection.answer(200, kExposition, page);
  }
}

void HttpListener::check_health() {
  if (look_.active()) return;  // a look is under way: its result does for this one too
  liveness_.begin_round();
  look_until_ns_ = here_.shard.loop().now_ns() + kHealthNs;
  on_look();
}

void HttpListener::on_look() {
  Loop& loop = here_.shard.loop();
  std::optional<ShardId> silent = liveness_.silent();
  if (silent && loop.now_ns() < look_until_ns_ && !want_health_.empty())
    return loop.timers().start(look_, loop.now_ns() + kLookEveryNs);
  while (!want_health_.empty()) {
    HttpConnection& connection = want_health_.front();
    want_health_.pop_front();
    if (silent) {
      answer_text(connection, 503, fmt::format("shard {} does not turn\n", *silent));
    } else {
      answer_text(connection, 200, "ok\n");
    }
  }
}

void HttpListener::answer_text(HttpConnection& connection, int status, std::string text) {
  connection.answer(status, kPlain, std::make_shared<const std::string>(std::move(text)));
}

void HttpListener::remove(HttpConnection& connection) {
  --count_;
  delete &connection;
}

void HttpListener::stop() {
  if (stopped_) return;
  stopped_ = true;
  here_.shard.loop().timers().cancel(look_);
  here_.shard.loop().timers().cancel(accept_again_);
  if (socket_ >= 0) {
    if (accept_.done.pending()) here_.shard.io().stop_accept(accept_);
    here_.shard.io().close(socket_);
  }
  for (auto each = connections_.begin(); each != connections_.end();) {
    HttpConnection& connection = *each++;
    connection.close();
  }
}

bool HttpListener::idle() const {
  return connections_.empty() && !accept_.done.pending() && !scrape_.running();
}

}  // namespace pelton::broker
