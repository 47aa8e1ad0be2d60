#include "broker/config/keys.h"

#include <algorithm>
#include <array>
#include <vector>

#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

std::vector<const BrokerKey*> gather() {
  std::vector<const BrokerKey*> all;
  for (auto table : {group_key_table(), log_key_table(), network_key_table(), new_group_key_table(),
                     pelton_key_table(), quorum_key_table(), remote_key_table(), replication_key_table(),
                     security_key_table(), server_key_table(), transaction_key_table()}) {
    for (const BrokerKey& key : table) all.push_back(&key);
  }
  std::ranges::sort(all, {}, [](const BrokerKey* key) { return key->name; });
  return all;
}

// Optimal string alignment distance (insert, drop, change, swap neighbours), cut off above `limit`.
int distance(std::string_view a, std::string_view b, int limit) {
  constexpr size_t kLongest = 64;
  size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (a.size() > kLongest || b.size() > kLongest || difference > static_cast<size_t>(limit)) {
    return limit + 1;
  }
  std::array<std::array<int, kLongest + 1>, 3> rows{};
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

// Keeps the nearest of the names it is shown.
class Nearest {
 public:
  explicit Nearest(std::string_view wanted) : wanted_(wanted), best_(wanted.size() >= 8 ? 3 : 2) {}
  void consider(std::string_view name) {
    int far = distance(wanted_, name, best_ - 1);
    if (far < best_) best_ = far, nearest_ = name;
  }
  std::string_view found() const { return nearest_; }

 private:
  std::string_view wanted_;
  int best_;  // one more than is still near
  std::string_view nearest_;
};

}  // namespace

std::span<const BrokerKey* const> broker_keys() {
  static const std::vector<const BrokerKey*> all = gather();
  return all;
}

const BrokerKey* find_broker_key(std::string_view name) {
  auto keys = broker_keys();
  auto found = std::ranges::lower_bound(keys, name, {}, [](const BrokerKey* key) { return key->name; });
  return found != keys.end() && (*found)->name == name ? *found : nullptr;
}

std::string_view without_listener(std::string_view name) {
  constexpr std::string_view kPrefix = "listener.name.";
  if (!name.starts_with(kPrefix)) return name;
  size_t dot = name.find('.', kPrefix.size());
  return dot == std::string_view::npos || dot == kPrefix.size() ? name : name.substr(dot + 1);
}

bool is_listener_security_key(std::string_view name) {
  constexpr std::string_view kTls[] = {
      "ssl.key.password",   "ssl.keystore.certificate.chain", "ssl.keystore.key",
      "ssl.keystore.location", "ssl.keystore.password",      "ssl.keystore.type",
      "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password",
      "ssl.truststore.type"};
  return std::ranges::count(kTls, name) > 0;
}

std::string_view suggest_key(std::string_view name) {
  Nearest nearest(name);
  for (const BrokerKey* key : broker_keys()) nearest.consider(key->name);
  return nearest.found();
}

std::string_view suggest_key(std::string_view name, std::span<const std::string_view> known) {
  Nearest nearest(name);
  for (std::string_view one : known) nearest.consider(one);
  return nearest.found();
}

}  // namespace pelton::broker
