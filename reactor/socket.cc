#include "reactor/socket.h"

#include <algorithm>

#include "reactor/base/check.h"

namespace pelton {

SendQueue::SendQueue(Loop& loop, SocketFd socket, const SendOptions& options)
    : loop_(loop),
      buffers_(*options.buffers),
      socket_(socket),
      path_(options.path),
      small_range_(options.path == SendPath::kAuto ? options.small_range : 0),
      turn_quota_(options.turn_quota),
      writable_(Completion::bind<&SendQueue::on_writable>(this)),
      read_(Completion::bind<&SendQueue::on_read>(this)),
      go_on_(Completion::bind<&SendQueue::on_go_on>(this)),
      buffer_waiter_(Completion::bind<&SendQueue::on_go_on>(this)) {}

SendQueue::~SendQueue() { CHECK(idle(), "a send queue is destroyed when it is idle"); }

bool SendQueue::operation_pending() const {
  return writable_.done.pending() || read_.done.pending() || go_on_.pending() ||
         buffer_waiter_.retry.pending() || buffer_waiter_.is_linked();
}

// ---------------------------------------------------------------- filling

void SendQueue::push(Bytes bytes) {
  if (bytes.empty()) return;
  SendPiece piece;
  piece.data = bytes.data();
  piece.length = bytes.size();
  push(piece);
}

void SendQueue::push(FileFd file, uint64_t position, uint64_t length) {
  if (length == 0) return;
  SendPiece piece;
  piece.file = file;
  piece.position = position;
  piece.length = length;
  push(piece);
}

void SendQueue::push(const SendPiece& piece) {
  if (failed_ || aborted_) return;
  pieces_.push(piece);
  queued_bytes_ += piece.length;
}

void SendQueue::end_reply(SendReply& reply) {
  if (failed_ || aborted_) return reply.tell(SendEnd::kDropped);
  // A piece of its own when the reply is empty or its pieces have left already.
  if (pieces_.empty() || pieces_.back().ends != nullptr) pieces_.push(SendPiece{});
  pieces_.back().ends = &reply;
}

// ---------------------------------------------------------------- driving

void SendQueue::flush() { drive(); }

void SendQueue::drive() {
  // A reply's end may push and flush: the outer call goes on with that.
  if (driving_ || operation_pending()) return;
  driving_ = true;
  quota_ = turn_quota_;
  pop_finished();
  while (!end_if_aborted() && !pieces_.empty() && step()) {
  }
  driving_ = false;
}

// Whether to go on: false when an operation is pending or the queue failed.
bool SendQueue::step() {
  const SendPiece& front = pieces_.front();
  bool by_file = front.is_file() && buffered_.empty() && !is_copied(front);
  return by_file ? send_file() : send_bytes();
}

bool SendQueue::is_copied(const SendPiece& piece) const {
  return piece.length <= small_range_ && quota_ > 0;
}

void SendQueue::gather_buffered(Gathered& so_far) {
  vectors_[so_far.vectors++] = {const_cast<uint8_t*>(buffered_.data()), buffered_.size()};
  so_far.bytes += buffered_.size();
}

// False: it has to go another way.
bool SendQueue::copy_range(const SendPiece& piece, Buffer& scratch, size_t& used, Gathered& so_far) {
  if (!is_copied(piece) || piece.length > kScratch - used) return false;
  if (!scratch) {
    auto buffer = buffers_.acquire(kScratch);
    if (!buffer) return false;
    scratch = std::move(*buffer);
  }
  MutableBytes into = scratch.bytes().subspan(used, static_cast<size_t>(piece.length));
  if (loop_.io().try_read(piece.file, into, piece.position) != static_cast<int64_t>(into.size()))
    return false;
  used += into.size();
  quota_ -= std::min(quota_, into.size());
  counters_.copied_bytes += into.size();
  vectors_[so_far.vectors++] = {into.data(), into.size()};
  so_far.bytes += into.size();
  return true;
}

SendQueue::Gathered SendQueue::gather(Buffer& scratch) {
  Gathered all;
  size_t index = 0;
  size_t used = 0;
  if (!buffered_.empty()) {
    gather_buffered(all);
    all.file_follows = pieces_.front().length > buffered_.size();
    if (all.file_follows) return all;
    ++index;
  }
  for (; index < pieces_.size() && all.vectors < kMaxVectors; ++index) {
    const SendPiece& piece = pieces_[index];
    if (piece.is_file()) {
      all.file_follows = !copy_range(piece, scratch, used, all);
      if (all.file_follows) return all;
    } else if (piece.length > 0) {
      vectors_[all.vectors++] = {const_cast<uint8_t*>(piece.data), piece.length};
      all.bytes += piece.length;
    }
  }
  return all;
}

bool SendQueue::send_bytes() {
  Buffer scratch;
  Gathered all = gather(scratch);
  // The range in front could not be copied after all.
  if (all.vectors == 0) return send_file();
  int64_t sent = loop_.io().try_send(socket_, vectors_.data(), static_cast<int>(all.vectors),
                                     all.file_follows);
  if (sent == -EAGAIN) {
    wait_writable();
    return false;
  }
  if (sent < 0) {
    fail(SendEnd::kPeerFailed);
    return false;
  }
  counters_.memory_bytes += static_cast<uint64_t>(sent);
  advance(static_cast<uint64_t>(sent));
  if (static_cast<uint64_t>(sent) == all.bytes) return true;
  wait_writable();  // it took less than was there: the socket is full
  return false;
}

bool SendQueue::send_file() {
  if (quota_ == 0) {
    loop_.post(go_on_);
    return false;
  }
  const SendPiece& piece = pieces_.front();
  uint64_t chunk = std::min({piece.length, kSendfileChunk, uint64_t{quota_}});
  if (path_ == SendPath::kCopy) return read_file();
  if (path_ == SendPath::kAuto &&
      !loop_.io().cached(piece.file, piece.position, static_cast<size_t>(chunk)))
    return read_file();
  return sent_by_file(
      loop_.io().try_sendfile(socket_, piece.file, piece.position, static_cast<size_t>(chunk)),
      chunk);
}

bool SendQueue::sent_by_file(int64_t result, uint64_t asked) {
  if (result == -EAGAIN) {
    wait_writable();
    return false;
  }
  if (result <= 0) {
    // The disk's fault or the peer's? The error alone does not say: read the range.
    telling_apart_ = true;
    return read_file();
  }
  auto sent = static_cast<uint64_t>(result);
  counters_.sendfile_bytes += sent;
  quota_ -= std::min<uint64_t>(quota_, sent);
  advance(sent);
  if (sent == asked) return true;
  wait_writable();  // it took less than was there: the socket is full
  return false;
}

bool SendQueue::read_file() {
  if (!buffer_) {
    if (auto buffer = buffers_.acquire(kReadChunk))
      buffer_ = std::move(*buffer);
    else
      buffers_.wait(buffer_waiter_);
  }
  if (!buffer_) return false;
  const SendPiece& piece = pieces_.front();
  read_.into = buffer_.bytes().first(static_cast<size_t>(std::min(piece.length, kReadChunk)));
  loop_.io().read(piece.file, piece.position, read_);
  return false;
}

void SendQueue::wait_writable() { loop_.io().poll_writable(socket_, writable_); }

// `bytes` of the first pieces are in the kernel's hands.
void SendQueue::advance(uint64_t bytes) {
  queued_bytes_ -= bytes;
  while (bytes > 0) {
    SendPiece& piece = pieces_.front();
    uint64_t here = std::min(bytes, piece.length);
    if (!buffered_.empty()) {
      here = std::min<uint64_t>(here, buffered_.size());
      buffered_ = buffered_.subspan(static_cast<size_t>(here));
      if (buffered_.empty()) buffer_.reset();
    }
    piece.consume(here);
    bytes -= here;
    pop_finished();
  }
}

// Ends may push behind, and may abort.
void SendQueue::pop_finished() {
  while (!pieces_.empty() && pieces_.front().length == 0) {
    SendPiece piece = pieces_.pop();
    if (piece.ends != nullptr) piece.ends->tell(SendEnd::kSent);
  }
}

// ---------------------------------------------------------------- ends of operations

void SendQueue::on_writable(int32_t result) {
  if (end_if_aborted()) return;
  if (result < 0) return fail(SendEnd::kPeerFailed);
  drive();
}

void SendQueue::on_read(int32_t result) {
  if (end_if_aborted()) return;
  // A file that ends before a range that was promised is as broken as one that cannot be read.
  if (result <= 0) return fail(SendEnd::kDiskFailed);
  if (telling_apart_) return fail(SendEnd::kPeerFailed);
  counters_.read_bytes += static_cast<uint64_t>(result);
  buffered_ = Bytes(buffer_.bytes()).first(static_cast<size_t>(result));
  drive();
}

void SendQueue::on_go_on(int32_t) {
  if (!end_if_aborted()) drive();
}

// ---------------------------------------------------------------- failing

void SendQueue::abort() {
  aborted_ = true;
  // In a line nobody uses a piece; in the middle of drive() the driver ends it.
  buffer_waiter_.unlink();
  if (!driving_ && !operation_pending()) end_if_aborted();
}

bool SendQueue::end_if_aborted() {
  if (aborted_ && !failed_) fail(SendEnd::kDropped);
  return failed_;
}

void SendQueue::fail(SendEnd first) {
  failed_ = true;
  buffered_ = {};
  buffer_.reset();
  queued_bytes_ = 0;
  SendEnd end = first;
  while (!pieces_.empty()) {
    SendPiece piece = pieces_.pop();
    if (piece.ends == nullptr) continue;
    piece.ends->tell(end);
    end = SendEnd::kDropped;
  }
}

}  // namespace pelton
