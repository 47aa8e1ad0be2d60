// The little of HTTP/1.1 (RFC 9112) that a scraper and a load balancer's probe need: one GET or HEAD a
// connection, no body, an answer with a length after which the connection ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pelton::broker {

struct HttpRequest {
  bool head = false;      // HEAD: the answer without its body
  std::string_view path;  // without the query
};

// What the bytes so far are: incomplete (nullopt), or a request or its refusal (`status` is not 200).
struct HttpParsed {
  int status = 200;
  HttpRequest request;
};
std::optional<HttpParsed> parse_http(std::string_view bytes);

// Longest request head that is read.
inline constexpr size_t kMaxHttpHead = 4'096;

std::string http_head(int status, std::string_view content_type, size_t content_length);

}  // namespace pelton::broker
