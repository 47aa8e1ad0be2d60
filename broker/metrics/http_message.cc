#include "broker/metrics/http_message.h"

#include <fmt/format.h>

namespace pelton::broker {
namespace {

const char* reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
  }
  return "";
}

}  // namespace

std::optional<HttpParsed> parse_http(std::string_view bytes) {
  if (bytes.find("\r\n\r\n") == std::string_view::npos) {
    if (bytes.size() >= kMaxHttpHead) return HttpParsed{.status = 431, .request = {}};
    return std::nullopt;
  }
  std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  size_t first = line.find(' ');
  size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos || !line.substr(second + 1).starts_with("HTTP/1.") ||
      line.substr(first + 1, 1) != "/")
    return HttpParsed{.status = 400, .request = {}};
  HttpParsed parsed;
  std::string_view method = line.substr(0, first);
  parsed.request.head = method == "HEAD";
  if (method != "GET" && method != "HEAD") parsed.status = 405;
  std::string_view target = line.substr(first + 1, second - first - 1);
  parsed.request.path = target.substr(0, target.find('?'));
  return parsed;
}

std::string http_head(int status, std::string_view content_type, size_t content_length) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "Connection: close\r\n{}\r\n",
      status, reason(status), content_type, content_length, status == 405 ? "Allow: GET, HEAD\r\n" : "");
}

}  // namespace pelton::broker
