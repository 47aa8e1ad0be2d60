// The codecs of record batches: gzip, snappy, lz4 (frame format), zstd.
// Compressed bytes come from clients and from disk, so every reader here is bounded: output and memory
// grow with what is really produced, never with what a header announces, and stop at the caller's limit.
// A stream belongs to one thread. A DecompressStream reads the compressed bytes in place, so they must
// outlive it; so must the CodecContexts that a stream was given.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "reactor/base/bytes.h"
#include "reactor/base/result.h"

namespace pelton::proto {

// The numbers of bits 0-2 of a batch's attributes.
enum class Codec : uint8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };
inline constexpr uint8_t kCodecCount = 5;
std::string_view to_string(Codec codec);

enum class CompressionError : uint8_t {
  kTruncated,       // the compressed bytes end inside a stream
  kCorrupt,         // not a stream of this codec, or a damaged one
  kTooLarge,        // more output than the caller allows
  kWindowTooLarge,  // a zstd frame asks for more history than kZstdMaxWindowLog
  kOutOfMemory,
  kStopped,         // CodecContexts were told to stop
};
std::string_view to_string(CompressionError error);

// 128 MiB: what zstd level 22 uses and what Kafka's readers accept. The window is address space that is
// touched only as far as output is produced.
inline constexpr int kZstdMaxWindowLog = 27;

// The effort that a writer takes: Kafka's compression.<codec>.level and its defaults. lz4's 9 is the fast
// one that Kafka always had, any other number its high compression.
struct CompressionLevels {
  int32_t gzip = -1;
  int32_t lz4 = 9;
  int32_t zstd = 3;
  friend bool operator==(const CompressionLevels&, const CompressionLevels&) = default;
};

namespace compression {
class Decoder;
class Encoder;
class Output;
}  // namespace compression

// The libraries' working memory, kept from one stream to the next: tens to hundreds of kilobytes, which cost
// more than a small batch to get and to clear. Owner: one thread.
// With `stopping`, streams fail with kStopped soon after it became true.
class CodecContexts {
 public:
  explicit CodecContexts(const std::atomic<bool>* stopping = nullptr);
  CodecContexts(const CodecContexts&) = delete;
  CodecContexts& operator=(const CodecContexts&) = delete;
  ~CodecContexts();

 private:
  friend class DecompressStream;
  friend class CompressStream;
  static bool stopped(const CodecContexts* contexts);

  const std::atomic<bool>* stopping_;
  std::array<std::unique_ptr<compression::Decoder>, kCodecCount> decoders_;
  std::array<std::unique_ptr<compression::Encoder>, kCodecCount> encoders_;
};

// Output piece by piece. What follows the end of a stream is treated as Kafka's readers do:
//   gzip    further members are read, other bytes are ignored;
//   snappy  xerial: streams may follow each other, up to 3 stray bytes are ignored; raw: an error;
//   lz4     ignored after the first frame; zstd: further frames are read, other bytes are an error.
// No bytes at all are an empty stream for none and zstd, and an error for the others.
class DecompressStream {
 public:
  DecompressStream(Codec codec, Bytes compressed, size_t max_output, CodecContexts* contexts = nullptr);
  DecompressStream(const DecompressStream&) = delete;
  DecompressStream& operator=(const DecompressStream&) = delete;
  ~DecompressStream();

  // Fills the front of `into` (not empty) and returns how much; 0 is the end. After an error only errors.
  Result<size_t, CompressionError> read(MutableBytes into);

 private:
  Result<size_t, CompressionError> read_past_limit();
  Result<size_t, CompressionError> fail(CompressionError error);

  Codec codec_;
  CodecContexts* contexts_;
  std::unique_ptr<compression::Decoder> decoder_;  // none: the codec is unknown
  size_t allowed_;
  std::optional<CompressionError> error_;
};

// The writing half: appends the compressed form of what is written to `out`, framed as Kafka's Java
// client frames it (snappy: xerial), at most max_output bytes of it. After an error only errors.
class CompressStream {
 public:
  CompressStream(Codec codec, const CompressionLevels& levels, std::vector<uint8_t>& out,
                 size_t max_output, CodecContexts* contexts = nullptr);
  CompressStream(const CompressStream&) = delete;
  CompressStream& operator=(const CompressStream&) = delete;
  ~CompressStream();

  Result<void, CompressionError> write(Bytes plain);
  // Ends the stream; once. Without it, or after an error, `out` is as before.
  Result<void, CompressionError> finish();

 private:
  Result<void, CompressionError> note(Result<void, CompressionError> result);

  Codec codec_;
  CodecContexts* contexts_;
  std::unique_ptr<compression::Encoder> encoder_;  // none: the codec is unknown
  std::unique_ptr<compression::Output> output_;
  std::optional<CompressionError> error_;
};

// Appends the whole output to `out`: at most max_output bytes, or kTooLarge. On error `out` is as before.
Result<void, CompressionError> decompress(Codec codec, Bytes compressed, size_t max_output,
                                          std::vector<uint8_t>& out);

// Appends the compressed form to `out`.
Result<void, CompressionError> compress(Codec codec, Bytes plain, std::vector<uint8_t>& out);

}  // namespace pelton::proto
