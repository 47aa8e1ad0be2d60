#include "broker/metrics/metric_text.h"

#include <fmt/format.h>

namespace pelton::broker {
namespace {

// Bytes that are no text would make the whole page unreadable for the scraper: they are shown as '?'.
bool printable(unsigned char byte) { return byte >= 0x20 && byte < 0x7f; }

void append_escaped(std::string& out, std::string_view value) {
  for (char c : value) {
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += printable(static_cast<unsigned char>(c)) ? c : '?';
    }
  }
}

}  // namespace

void MetricText::header(std::string_view family, std::string_view help, std::string_view type) {
  family_ = family;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", family, help, family, type);
}

void MetricText::label(Label label, bool& first) {
  text_ += first ? '{' : ',';
  first = false;
  text_ += label.name;
  text_ += "=\"";
  append_escaped(text_, label.value);
  text_ += '"';
}

void MetricText::line(std::string_view suffix, Labels labels, std::string_view bound,
                      std::string_view value) {
  text_ += family_;
  text_ += suffix;
  bool first = true;
  for (const Label& each : labels) label(each, first);
  if (!bound.empty()) label({"le", bound}, first);
  if (!first) text_ += '}';
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

void MetricText::sample(Labels labels, uint64_t value) {
  line({}, labels, {}, fmt::format_int(value).c_str());
}
void MetricText::sample(Labels labels, int64_t value) {
  line({}, labels, {}, fmt::format_int(value).c_str());
}
void MetricText::sample(Labels labels, double value) { line({}, labels, {}, fmt::format("{}", value)); }

void MetricText::sample(Labels labels, const LatencyHistogram& value) {
  uint64_t so_far = 0;
  for (size_t i = 0; i < LatencyHistogram::kBounds; ++i) {
    so_far += value.count(i);
    line("_bucket", labels, fmt::format("{}", static_cast<double>(LatencyHistogram::bound_ns(i)) / 1e9),
         fmt::format_int(so_far).c_str());
  }
  so_far += value.count(LatencyHistogram::kBounds);
  line("_bucket", labels, "+Inf", fmt::format_int(so_far).c_str());
  line("_sum", labels, {}, fmt::format("{}", static_cast<double>(value.sum_ns()) / 1e9));
  line("_count", labels, {}, fmt::format_int(so_far).c_str());
}

}  // namespace pelton::broker
