#include "broker/metrics/http_message.h"

#include <algorithm>

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

// Takes the next line off `text`, without its end: a line feed, alone too (RFC 9112, 2.2). Nothing while it is not
// whole.
std::optional<std::string_view> take_line(std::string_view& text) {
  size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_sound_field(std::string_view line) {
  size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  std::string_view name = line.substr(0, colon);
  if (name.find_first_of(" \t") != std::string_view::npos) return false;
  if (!std::ranges::equal(name, std::string_view("content-length"), {},
                          [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }))
    return true;
  std::string_view value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  value = value.substr(0, value.find_last_not_of(" \t") + 1);
  return !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether the fields behind the request line are sound; nothing while their end has not come.
std::optional<bool> are_sound_fields(std::string_view text) {
  bool sound = true;
  while (auto line = take_line(text)) {
    if (line->empty()) return sound;
    sound &= is_sound_field(*line);
  }
  return std::nullopt;
}

}  // namespace

std::optional<HttpParsed> parse_http(std::string_view bytes) {
  std::string_view fields = bytes;
  auto first_line = take_line(fields);
  auto sound = first_line ? are_sound_fields(fields) : std::nullopt;
  if (!sound) {
    if (bytes.size() >= kMaxHttpHead) return HttpParsed{.status = 431, .request = {}};
    return std::nullopt;
  }
  if (!*sound) return HttpParsed{.status = 400, .request = {}};
  std::string_view line = *first_line;
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
