// Tells what Apache Kafka's jars know of configuration keys, one fact a line, fields separated by tabs:
//   key <kind> <name> <type> <default, or - for none> <valid values> <importance> <internal> <update mode>
//       <names that give the default>
//   value <kind> <name> <number of the text> <the value, as Kafka writes it>    only for texts it takes
//   file <number of the block> taken|refused
// Arguments: a file of texts, one a line, and a file of blocks of properties, separated by empty lines.

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

public class ConfigKeys {
  private final List<String> texts;

  private ConfigKeys(List<String> texts) {
    this.texts = texts;
  }

  public static void main(String[] arguments) throws Exception {
    ConfigKeys keys = new ConfigKeys(Files.readAllLines(Path.of(arguments[0])));
    keys.tell("broker", AbstractKafkaConfig.CONFIG_DEF);
    keys.tell("topic", LogConfig.configDefCopy());
    keys.tell("group", GroupConfig.CONFIG_DEF);
    keys.tell("client-metrics", ClientMetricsConfigs.configDef());
    String[] blocks = Files.readString(Path.of(arguments[1])).strip().split("\n\n+");
    for (int i = 0; i < blocks.length; i++) {
      System.out.println(String.join("\t", "file", "" + i, takes(blocks[i]) ? "taken" : "refused"));
    }
  }

  private void tell(String kind, ConfigDef definition) {
    Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
    for (ConfigDef.ConfigKey key : new TreeMap<>(definition.configKeys()).values()) {
      String mode = kind.equals("broker") ? modes.getOrDefault(key.name, "read-only") : "-";
      System.out.println(String.join("\t", "key", kind, key.name, key.type.name(), defaultOf(key),
          key.validator == null ? "-" : key.validator.toString(), key.importance.name(),
          "" + key.internalConfig, mode, synonymsOf(kind, key.name)));
      for (int i = 0; i < texts.size(); i++) {
        tellValue(kind, key, i);
      }
    }
  }

  private static String defaultOf(ConfigDef.ConfigKey key) {
    if (!key.hasDefault() || key.defaultValue == null) {
      return "-";
    }
    return written(key, key.defaultValue);
  }

  private static String synonymsOf(String kind, String name) {
    if (kind.equals("group")) {
      return GroupConfig.brokerSynonym(name).orElse("-");
    }
    List<ConfigSynonym> synonyms = kind.equals("topic")
        ? ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.get(name) : null;
    if (synonyms == null || synonyms.isEmpty()) {
      return "-";
    }
    List<String> names = new ArrayList<>();
    synonyms.forEach(synonym -> names.add(synonym.name()));
    return String.join(",", names);
  }

  private void tellValue(String kind, ConfigDef.ConfigKey key, int number) {
    try {
      Object value = new ConfigDef().define(key).parse(Map.of(key.name, texts.get(number))).get(key.name);
      System.out.println(String.join("\t", "value", kind, key.name, "" + number, written(key, value)));
    } catch (RuntimeException refused) {
      // Not told.
    }
  }

  private static String written(ConfigDef.ConfigKey key, Object value) {
    return value instanceof Password password ? password.value() : ConfigDef.convertToString(value, key.type);
  }

  private static boolean takes(String block) throws Exception {
    Properties properties = new Properties();
    properties.load(new java.io.StringReader(block));
    properties.putIfAbsent("process.roles", "broker,controller");
    properties.putIfAbsent("node.id", "1");
    properties.putIfAbsent("controller.quorum.voters", "1@localhost:9093");
    properties.putIfAbsent("listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093");
    properties.putIfAbsent("controller.listener.names", "CONTROLLER");
    properties.putIfAbsent("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
    try {
      kafka.server.KafkaConfig.fromProps(properties);
      return true;
    } catch (RuntimeException refused) {
      return false;
    }
  }
}
