#include "broker/config/load_config.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

using Sentences = std::vector<std::string>;

ConfigSources file(std::string text) {
  return {.file_name = "server.properties", .file_text = std::move(text), .environment = {},
          .overrides = {}};
}

BrokerConfig loaded(const ConfigSources& sources, Sentences* notices = nullptr) {
  Sentences own;
  auto config = load_config(sources, notices == nullptr ? own : *notices);
  if (!config) {
    ADD_FAILURE() << config.error().front();
    return {};
  }
  return *config;
}

Sentences errors(const ConfigSources& sources) {
  Sentences notices;
  auto config = load_config(sources, notices);
  return config ? Sentences{"(no error)"} : config.error();
}

TEST(LoadConfig, DefaultsOfASingleNode) {
  Sentences notices;
  BrokerConfig config = loaded({}, &notices);
  EXPECT_TRUE(notices.empty());
  EXPECT_EQ(config.node_id, 1);
  ASSERT_EQ(config.listeners.size(), 1u);
  EXPECT_EQ(config.listeners[0].name, "PLAINTEXT");
  EXPECT_EQ(config.listeners[0].bind.host, "");
  EXPECT_EQ(config.listeners[0].bind.port, 9092);
  EXPECT_EQ(config.listeners[0].advertised_host, "");
  EXPECT_EQ(config.log_defaults.flush_messages, 1);
  EXPECT_EQ(config.log_defaults.retention_ms, 604'800'000);
  EXPECT_EQ(config.num_partitions, 1);
}

// The texts of the table's defaults and the typed defaults must not drift apart.
TEST(LoadConfig, TableDefaultsAreTheDefaults) {
  std::string text;
  for (const BrokerKey* key : broker_keys()) {
    if (key->acts() && key->default_value) text += fmt::format("{}={}\n", key->name, *key->default_value);
  }
  BrokerConfig spelled = loaded(file(text));
  BrokerConfig plain = loaded({});
  EXPECT_EQ(spelled.num_partitions, plain.num_partitions);
  EXPECT_EQ(spelled.log_dir, plain.log_dir);
  EXPECT_EQ(spelled.log_level, plain.log_level);
  EXPECT_EQ(spelled.shards, plain.shards);
  EXPECT_EQ(spelled.group_min_session_timeout_ms, plain.group_min_session_timeout_ms);
  EXPECT_EQ(spelled.group_max_session_timeout_ms, plain.group_max_session_timeout_ms);
  EXPECT_EQ(spelled.group_initial_rebalance_delay_ms, plain.group_initial_rebalance_delay_ms);
  EXPECT_EQ(spelled.group_max_size, plain.group_max_size);
  EXPECT_EQ(spelled.offset_metadata_max_bytes, plain.offset_metadata_max_bytes);
  EXPECT_EQ(spelled.offsets_retention_minutes, plain.offsets_retention_minutes);
  EXPECT_EQ(spelled.offsets_topic_num_partitions, plain.offsets_topic_num_partitions);
  EXPECT_EQ(spelled.offsets_topic_segment_bytes, plain.offsets_topic_segment_bytes);
  EXPECT_EQ(spelled.socket_request_max_bytes, plain.socket_request_max_bytes);
  EXPECT_EQ(spelled.socket_send_buffer_bytes, plain.socket_send_buffer_bytes);
  EXPECT_EQ(spelled.socket_listen_backlog, plain.socket_listen_backlog);
  EXPECT_EQ(spelled.max_in_flight_per_connection, plain.max_in_flight_per_connection);
  EXPECT_EQ(spelled.connections_max_idle_ms, plain.connections_max_idle_ms);
  EXPECT_EQ(spelled.fetch_max_bytes, plain.fetch_max_bytes);
  EXPECT_EQ(spelled.max_fetch_sessions, plain.max_fetch_sessions);
  EXPECT_EQ(spelled.request_partition_limit, plain.request_partition_limit);
  EXPECT_EQ(spelled.producer_id_expiration_ms, plain.producer_id_expiration_ms);
  EXPECT_EQ(spelled.log_retention_check_interval_ms, plain.log_retention_check_interval_ms);
  EXPECT_EQ(spelled.flush_offset_checkpoint_interval_ms, plain.flush_offset_checkpoint_interval_ms);
  EXPECT_EQ(spelled.send_path, plain.send_path);
  const storage::LogConfig &a = spelled.log_defaults, &b = plain.log_defaults;
  EXPECT_TRUE(a == b);
  EXPECT_EQ(a.segment_bytes, b.segment_bytes);
  EXPECT_EQ(a.segment_ms, b.segment_ms);
  EXPECT_EQ(a.index_interval_bytes, b.index_interval_bytes);
  EXPECT_EQ(a.segment_index_bytes, b.segment_index_bytes);
  EXPECT_EQ(a.retention_ms, b.retention_ms);
  EXPECT_EQ(a.retention_bytes, b.retention_bytes);
  EXPECT_EQ(a.file_delete_delay_ms, b.file_delete_delay_ms);
  EXPECT_EQ(a.flush_messages, b.flush_messages);
  EXPECT_EQ(a.flush_ms, b.flush_ms);
  EXPECT_EQ(a.max_message_bytes, b.max_message_bytes);
  EXPECT_EQ(a.delete_policy, b.delete_policy);
  EXPECT_EQ(a.compact_policy, b.compact_policy);
  EXPECT_EQ(a.log_append_time, b.log_append_time);
}

TEST(LoadConfig, OverrideWinsOverEnvironmentOverFile) {
  ConfigSources sources = file("num.partitions=2\nnode.id=2\nbroker.rack=a\n");
  sources.environment = {"KAFKA_NUM_PARTITIONS=3", "KAFKA_NODE_ID=3", "HOME=/root"};
  sources.overrides = {"num.partitions=4", "num.partitions=5"};
  BrokerConfig config = loaded(sources);
  EXPECT_EQ(config.num_partitions, 5);
  EXPECT_EQ(config.node_id, 3);
  EXPECT_EQ(config.rack, "a");
  EXPECT_EQ(config.layers.from_files.at("num.partitions"), "5");
}

TEST(LoadConfig, StrongerSpellingWinsWhereverItStands) {
  EXPECT_EQ(loaded(file("log.retention.ms=5\nlog.retention.hours=1\nlog.retention.minutes=2"))
                .log_defaults.retention_ms, 5);
  EXPECT_EQ(loaded(file("log.retention.minutes=2\nlog.retention.hours=1")).log_defaults.retention_ms,
            120'000);
  EXPECT_EQ(loaded(file("log.retention.hours=-1")).log_defaults.retention_ms, -1);
  EXPECT_EQ(loaded(file("log.roll.ms=7\nlog.roll.hours=1")).log_defaults.segment_ms, 7);
  EXPECT_EQ(loaded(file("log.dirs=/b\nlog.dir=/a")).log_dir, "/b");
  EXPECT_EQ(loaded(file("log.flush.scheduler.interval.ms=9\nlog.flush.interval.ms=8"))
                .log_defaults.flush_ms, 8);
}

TEST(LoadConfig, CombinedModeFileOfApacheKafka) {
  Sentences notices;
  BrokerConfig config = loaded(file("process.roles=broker,controller\n"
                                    "node.id=7\n"
                                    "controller.quorum.voters=7@localhost:9093\n"
                                    "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://:9093\n"
                                    "inter.broker.listener.name=PLAINTEXT\n"
                                    "advertised.listeners=PLAINTEXT://host.example:19092\n"
                                    "controller.listener.names=CONTROLLER\n"
                                    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,"
                                    "PLAINTEXT:PLAINTEXT,SSL:SSL\n"
                                    "num.network.threads=3\nnum.io.threads=8\n"
                                    "socket.send.buffer.bytes=102400\n"
                                    "log.dirs=/tmp/x\nnum.recovery.threads.per.data.dir=1\n"
                                    "offsets.topic.replication.factor=1\n"
                                    "log.segment.bytes=1073741824\n"),
                               &notices);
  EXPECT_EQ(config.node_id, 7);
  ASSERT_EQ(config.listeners.size(), 1u);
  EXPECT_EQ(config.listeners[0].bind.host, "127.0.0.1");
  EXPECT_EQ(config.listeners[0].advertised_host, "host.example");
  EXPECT_EQ(config.listeners[0].advertised_port, 19092);
  EXPECT_EQ(config.socket_send_buffer_bytes, 102'400);
  Sentences expected = {
      "a single node has no quorum; these keys do nothing: controller.quorum.voters, "
      "process.roles",
      "one thread a shard does everything; these keys do nothing: num.io.threads, "
      "num.network.threads, num.recovery.threads.per.data.dir"};
  EXPECT_EQ(notices, expected);
}

struct BadLine {
  const char* text;
  const char* error;
};

TEST(LoadConfig, SaysWhatIsWrongAndWhere) {
  const BadLine lines[] = {
      {"\nlog.segment.bytes=abc", "server.properties line 2: log.segment.bytes=abc: not a whole number"},
      {"log.segment.bytes=", "server.properties line 1: log.segment.bytes=: not a whole number"},
      {"max.connections=0", "server.properties line 1: max.connections=0 would let nobody in"},
      {"log.segment.bytes=10", "server.properties line 1: log.segment.bytes=10: must be at least 1048576"},
      {"log.segment.bytes=2147483648",
       "server.properties line 1: log.segment.bytes=2147483648: does not fit in 32 bits"},
      {"log.retention.bytes=9223372036854775808",
       "server.properties line 1: log.retention.bytes=9223372036854775808: does not fit in 64 bits"},
      {"pelton.shards=1025", "server.properties line 1: pelton.shards=1025: must be at most 1024"},
      {"delete.topic.enable=yes",
       "server.properties line 1: delete.topic.enable=yes: must be true or false"},
      {"log.cleanup.policy=delete,shred",
       "server.properties line 1: log.cleanup.policy=delete,shred: must be one of compact, delete"},
      {"pelton.log.level=loud",
       "server.properties line 1: pelton.log.level=loud: must be one of trace, debug, info, warn, "
       "error"},
      {"log.retention.ms=0",
       "server.properties line 1: log.retention.ms=0: must be -1 (no limit) or at least 1"},
      {"log.segment.byte=1048576",
       "server.properties line 1: unknown key log.segment.byte=1048576; did you mean log.segment.bytes?"},
      {"num.partitoins=3",
       "server.properties line 1: unknown key num.partitoins=3; did you mean num.partitions?"},
      {"node.id=1\nbroker.id=2",
       "server.properties line 2: broker.id=2 and node.id=1 must be the same"},
      {"log.dirs=/a,/b",
       "server.properties line 1: log.dirs=/a,/b: one directory is needed; several are not there yet"},
      {"group.min.session.timeout.ms=10\ngroup.max.session.timeout.ms=9",
       "server.properties line 1: group.min.session.timeout.ms=10 must not be above "
       "group.max.session.timeout.ms=9"},
      {"process.roles=controller",
       "server.properties line 1: process.roles=controller: this process is a broker; broker or "
       "broker,controller is expected"},
      {"controller.quorum.voters=1@a:1,2@b:1,3@c:1",
       "server.properties line 1: controller.quorum.voters=1@a:1,2@b:1,3@c:1: a quorum of several "
       "nodes is not there yet; one voter, this node, is allowed"},
      {"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
       "server.properties line 1: authorizer.class.name="
       "org.apache.kafka.metadata.authorizer.StandardAuthorizer: there is no authorizer yet, and "
       "starting without it would let everyone in"},
  };
  for (const BadLine& line : lines) EXPECT_EQ(errors(file(line.text)), Sentences{line.error});
}

TEST(LoadConfig, SaysWhatIsWrongWithListeners) {
  const BadLine lines[] = {
      {"listeners=9092", "listeners: \"9092\" is not NAME://host:port"},
      {"listeners=PLAINTEXT://localhost", "listeners: \"PLAINTEXT://localhost\" is not NAME://host:port"},
      {"listeners=PLAINTEXT://:99999",
       "listeners: \"PLAINTEXT://:99999\": the port must be a number from 0 to 65535"},
      {"listeners=PLAINTEXT://::1:9092",
       "listeners: \"PLAINTEXT://::1:9092\": an IPv6 address stands in brackets: "
       "PLAINTEXT://[::1]:9092"},
      {"listeners=PLAINTEXT://a b:9092",
       "listeners: \"PLAINTEXT://a b:9092\": the host must be an address, a name or empty"},
      {"listeners=PLAINTEXT://a/b:9092",
       "listeners: \"PLAINTEXT://a/b:9092\": the host must be an address, a name or empty"},
      {"listeners=SSL://:9093", "listeners: SSL uses SSL, which is not there yet; only PLAINTEXT is"},
      {"listeners=INSIDE://:9092", "listeners: INSIDE has no entry in listener.security.protocol.map"},
      {"listeners=PLAINTEXT://:1,PLAINTEXT://:2", "listeners: PLAINTEXT is there twice"},
      {"listeners=A://:1,B://:1\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT",
       "listeners: A and B have the same address and port"},
      {"listeners=CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER",
       "listeners: there is no listener for clients"},
  };
  for (const BadLine& line : lines) {
    EXPECT_EQ(errors(file(line.text)), Sentences{std::string("server.properties line 1: ") + line.error});
  }
  EXPECT_EQ(errors(file("advertised.listeners=OUTSIDE://a:1")),
            Sentences{"server.properties line 1: advertised.listeners: OUTSIDE is not among the listeners"});
  EXPECT_EQ(errors(file("advertised.listeners=PLAINTEXT://0.0.0.0:9092")),
            Sentences{"server.properties line 1: advertised.listeners: PLAINTEXT://0.0.0.0:9092: clients "
                      "cannot connect to that address; leave advertised.listeners out to advertise what "
                      "the client dialled"});
  EXPECT_EQ(errors(file("advertised.listeners=PLAINTEXT://broker.example:0")),
            Sentences{"server.properties line 1: advertised.listeners: PLAINTEXT://broker.example:0: clients "
                      "cannot connect to port 0"});
  EXPECT_EQ(errors(file("listener.security.protocol.map=PLAINTEXT")),
            Sentences{"server.properties line 1: listener.security.protocol.map: \"PLAINTEXT\" is not "
                      "NAME:PROTOCOL"});
  EXPECT_EQ(errors(file("listener.security.protocol.map=PLAINTEXT:PLAIN")),
            Sentences{"server.properties line 1: listener.security.protocol.map: PLAIN: no such protocol"});
}

TEST(LoadConfig, ALoopbackAddressForEverybodyIsOneWarning) {
  for (const char* host : {"localhost", "127.0.0.1", "[::1]"}) {
    Sentences notices;
    BrokerConfig config = loaded(
        file(fmt::format("advertised.listeners=PLAINTEXT://{}:9092\n", host)), &notices);
    ASSERT_EQ(notices.size(), 1u) << host;
    EXPECT_NE(notices[0].find("clients on other machines are told to connect to themselves"),
              std::string::npos) << notices[0];
  }
  Sentences notices;
  loaded(file("listeners=PLAINTEXT://127.0.0.1:9092\nadvertised.listeners=PLAINTEXT://localhost:9092\n"),
         &notices);
  loaded(file("listeners=PLAINTEXT://0.0.0.0:9092\nadvertised.listeners=PLAINTEXT://10.0.0.1:9092\n"),
         &notices);
  EXPECT_TRUE(notices.empty());
}

TEST(LoadConfig, ControllersListeners) {
  BrokerConfig config = loaded(file("listeners=PLAINTEXT://:9092,CONTROLLER://[::1]:9093\n"
                                    "controller.listener.names=CONTROLLER\n"
                                    "advertised.listeners=PLAINTEXT://:19092,CONTROLLER://c.example:19093\n"
                                    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"));
  ASSERT_EQ(config.listeners.size(), 1u);
  EXPECT_EQ(config.listeners[0].advertised_host, "") << "the host that the client dialled";
  EXPECT_EQ(config.listeners[0].advertised_port, 19092);
  ASSERT_EQ(config.controller_listeners.size(), 1u);
  EXPECT_EQ(config.controller_listeners[0].bind.host, "::1");
  EXPECT_EQ(config.controller_listeners[0].advertised_host, "c.example");
  EXPECT_EQ(errors(file("listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
                        "controller.listener.names=CONTROLLER\n"
                        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:SSL")),
            Sentences{"server.properties line 1: listeners: CONTROLLER uses SSL, which is not there yet; only "
                      "PLAINTEXT is"});
}

TEST(LoadConfig, ListenersOfEveryForm) {
  BrokerConfig config = loaded(file("listeners=plaintext://[::1]:9092 , OUT://:0,ALL://[::]:9094,NAMED://broker.example:9095\n"
                                    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OUT:plaintext,"
                                    "ALL:PLAINTEXT,NAMED:PLAINTEXT"));
  ASSERT_EQ(config.listeners.size(), 4u);
  EXPECT_EQ(config.listeners[3].bind.host, "broker.example");
  EXPECT_EQ(config.listeners[0].name, "PLAINTEXT");
  EXPECT_EQ(config.listeners[0].bind.host, "::1");
  EXPECT_EQ(config.listeners[1].bind.host, "");
  EXPECT_EQ(config.listeners[1].bind.port, 0);
  EXPECT_EQ(config.listeners[2].bind.host, "");
}

TEST(LoadConfig, AllErrorsAreToldAtOnce) {
  ConfigSources sources = file("num.partitions=0\nlog.dirs=\n");
  sources.environment = {"KAFKA_NODE_ID=x"};
  sources.overrides = {"nonsense"};
  EXPECT_EQ(errors(sources).size(), 4u);
}

TEST(LoadConfig, UnknownKeysAreToldAndIgnored) {
  Sentences notices;
  loaded(file("my.own.setting=1\nretention.ms=5\nlistener.name.x.ssl.keystore.type=PEM\n"), &notices);
  Sentences expected = {
      "server.properties line 1: unknown key my.own.setting is ignored",
      "server.properties line 2: retention.ms is a topic's key and is ignored here; the broker's key is "
      "log.retention.ms",
      "TLS, SASL and access control are not there yet; these keys do nothing: "
      "listener.name.x.ssl.keystore.type"};
  std::ranges::sort(notices);
  std::ranges::sort(expected);
  EXPECT_EQ(notices, expected);
}

TEST(LoadConfig, ReplicationIsTakenAsOne) {
  Sentences notices;
  BrokerConfig config = loaded(file("default.replication.factor=3\nmin.insync.replicas=2\n"), &notices);
  EXPECT_EQ(config.layers.from_files.at("default.replication.factor"), "1");
  Sentences expected = {"server.properties line 1: default.replication.factor=3 is taken as 1: this is a "
                        "single node",
                        "server.properties line 2: min.insync.replicas=2 is taken as 1: this is a single "
                        "node"};
  EXPECT_EQ(notices, expected);
}

TEST(LoadConfig, ClusterIdOfTheEnvironment) {
  ConfigSources sources;
  sources.environment = {"CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qg"};
  EXPECT_EQ(loaded(sources).cluster_id, "MkU3OEVBNTcwNTJENDM2Qg");
  sources.overrides = {"pelton.cluster.id=abc"};
  EXPECT_EQ(loaded(sources).cluster_id, "abc");
}

TEST(LoadConfig, KeysGivenTwiceInOneSourceAreTold) {
  Sentences notices;
  ConfigSources sources = file("num.partitions=2\n\nnum.partitions=3\n");
  sources.overrides = {"delete.topic.enable=false"};
  sources.environment = {"KAFKA_NUM_PARTITIONS=3"};
  BrokerConfig config = loaded(sources, &notices);
  EXPECT_EQ(config.num_partitions, 3);
  EXPECT_EQ(notices, Sentences{"server.properties line 3: num.partitions is there already "
                               "(server.properties line 1); the later one counts"});
}

TEST(LoadConfig, SecretsAreNotInMessages) {
  // No text of this type is refused by itself, so the key is what is wrong.
  EXPECT_EQ(errors(file("ssl.key.passwrod=hunter2")),
            Sentences{"server.properties line 1: unknown key ssl.key.passwrod=[hidden]; did you mean "
                      "ssl.key.password?"});
}

TEST(LoadConfig, KeysThatDoNothingAreCheckedToo) {
  EXPECT_EQ(errors(file("num.io.threads=0")),
            Sentences{"server.properties line 1: num.io.threads=0: must be at least 1"});
  EXPECT_EQ(errors(file("group.consumer.session.timeout.ms=44999")),
            Sentences{"server.properties line 1: group.consumer.min.session.timeout.ms=45000 must not be "
                      "above group.consumer.session.timeout.ms=44999"});
  EXPECT_EQ(errors(file("queued.max.request.bytes=7")),
            Sentences{"server.properties line 1: socket.request.max.bytes=104857600 must not be above "
                      "queued.max.request.bytes=7"});
  EXPECT_EQ(errors(file("config.providers=file")),
            Sentences{"server.properties line 1: config.providers=file: there are no config providers: "
                      "${...} in a value would be taken as it stands"});
}

TEST(LoadConfig, EachListenersOwnKeys) {
  Sentences notices;
  loaded(file("listener.name.plaintext.connections.max.idle.ms=5\n"), &notices);
  EXPECT_EQ(notices, Sentences{"server.properties line 1: listener.name.plaintext.connections.max.idle.ms: "
                               "one listener cannot have its own connections.max.idle.ms here; the key is "
                               "ignored"});
}

TEST(Keys, TableIsSortedDistinctAndSaysWhatEachKeyDoes) {
  auto name = [](const BrokerKey* key) { return key->name; };
  EXPECT_TRUE(std::ranges::is_sorted(broker_keys(), {}, name));
  EXPECT_EQ(std::ranges::adjacent_find(broker_keys(), {}, name), broker_keys().end());
  for (const BrokerKey* key : broker_keys()) {
    EXPECT_EQ(find_broker_key(key->name), key);
    EXPECT_FALSE(key->text().empty()) << key->name;
    EXPECT_EQ(key->acts(), !key->documentation.empty()) << key->name;
    EXPECT_FALSE(!key->acts() && key->set != nullptr) << key->name;
    // A key that can be changed at run time and acts is set by itself.
    EXPECT_FALSE(key->acts() && key->mode != UpdateMode::kReadOnly && key->set == nullptr &&
                 key->name != "min.insync.replicas")
        << key->name;
    if (key->default_value) {
      EXPECT_TRUE(parse_value(key->rule, *key->default_value).has_value()) << key->name;
    }
  }
}

TEST(Keys, SuggestsOnlyNearNames) {
  EXPECT_EQ(suggest_key("log.dir"), "log.dir");
  EXPECT_EQ(suggest_key("lgo.dirs"), "log.dirs");
  EXPECT_EQ(suggest_key("num.partition"), "num.partitions");
  EXPECT_EQ(suggest_key("confluent.metrics.enable"), "");
  EXPECT_EQ(suggest_key(std::string(1000, 'x')), "");
}

}  // namespace
}  // namespace pelton::broker
