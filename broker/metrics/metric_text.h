// MetricText: writes the text format of Prometheus (version 0.0.4): families with their help and type, and
// samples whose label values are escaped, so that a name chosen by a client cannot break a line.
//
// Owner: whoever renders. Invariant: a family's samples follow its header without another in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "reactor/base/latency.h"

namespace pelton::broker {

struct Label {
  std::string_view name;
  std::string_view value;
};
using Labels = std::initializer_list<Label>;

class MetricText {
 public:
  // `help` is one line without backslashes.
  void counter(std::string_view family, std::string_view help) { header(family, help, "counter"); }
  void gauge(std::string_view family, std::string_view help) { header(family, help, "gauge"); }
  void histogram(std::string_view family, std::string_view help) { header(family, help, "histogram"); }

  // A sample of the family whose header came last.
  void sample(Labels labels, uint64_t value);
  void sample(Labels labels, int64_t value);
  void sample(Labels labels, double value);
  // In seconds.
  void sample(Labels labels, const LatencyHistogram& value);

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void header(std::string_view family, std::string_view help, std::string_view type);
  void line(std::string_view suffix, Labels labels, std::string_view extra, std::string_view value);
  void label(Label label, bool& first);

  std::string family_;
  std::string text_;
};

}  // namespace pelton::broker
