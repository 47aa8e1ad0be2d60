#include "broker/config/properties.h"

#include <gtest/gtest.h>

namespace pelton::broker {
namespace {

std::vector<Setting> parsed(std::string_view text) {
  auto settings = parse_properties(text, "server.properties");
  EXPECT_TRUE(settings.has_value()) << settings.error();
  return settings ? *settings : std::vector<Setting>();
}

TEST(Properties, SplitsKeyAndValue) {
  auto settings = parsed("a=1\nb:2\nc 3\n  d \t=  4 5  \ne\nf==x\n");
  ASSERT_EQ(settings.size(), 6u);
  const char* expected[][2] = {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4 5"}, {"e", ""}, {"f", "=x"}};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(settings[i].key, expected[i][0]);
    EXPECT_EQ(settings[i].value, expected[i][1]);
  }
}

TEST(Properties, CommentsAndBlankLinesCountAsLines) {
  auto settings = parsed("# one\n\n  ! two\r\n \t\na=1\rb=2");
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].place, "server.properties line 5");
  EXPECT_EQ(settings[1].place, "server.properties line 6");
}

TEST(Properties, ContinuedLines) {
  auto settings = parsed("list = a,\\\n    b,\\\r\n\tc\nnext=1\neven=x\\\\\nlast=1\\");
  ASSERT_EQ(settings.size(), 4u);
  EXPECT_EQ(settings[0].value, "a,b,c");
  EXPECT_EQ(settings[0].place, "server.properties line 1");
  EXPECT_EQ(settings[1].place, "server.properties line 4");
  EXPECT_EQ(settings[2].value, "x\\");
  EXPECT_EQ(settings[3].value, "1");
}

TEST(Properties, ACommentDoesNotContinue) {
  auto settings = parsed("# comment \\\na=1\n");
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_EQ(settings[0].key, "a");
}

TEST(Properties, Escapes) {
  auto settings = parsed(R"(a\=b\:c\ d=x\ty\n\u0041\u00e9\uD83D\uDE00\q)");
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_EQ(settings[0].key, "a=b:c d");
  EXPECT_EQ(settings[0].value, "x\ty\nA\xC3\xA9\xF0\x9F\x98\x80q");
}

TEST(Properties, BadUnicodeEscape) {
  auto settings = parse_properties("ok=1\nbad=\\u00g1\n", "server.properties");
  ASSERT_FALSE(settings.has_value());
  EXPECT_EQ(settings.error(),
            "server.properties line 2: \\u must be followed by four hexadecimal digits");
  EXPECT_FALSE(parse_properties("bad=\\u12", "f").has_value());
}

TEST(Environment, MapsUnderscores) {
  auto setting = parse_environment("KAFKA_LOG_SEGMENT_BYTES=1");
  ASSERT_TRUE(setting.has_value());
  EXPECT_EQ(setting->key, "log.segment.bytes");
  EXPECT_EQ(setting->value, "1");
  EXPECT_EQ(setting->place, "KAFKA_LOG_SEGMENT_BYTES");
  EXPECT_EQ(parse_environment("KAFKA_A__B___C_D=")->key, "a_b-c.d");
}

TEST(Environment, PassesOverWhatIsNoSetting) {
  for (const char* variable : {"PATH=/bin", "KAFKA_=1", "KAFKA_HEAP_OPTS=-Xmx1g", "KAFKA_LOG4J_OPTS=x",
                               "KAFKA_PORT=tcp://10.0.0.1:9092", "KAFKA_SERVICE_HOST=10.0.0.1"}) {
    EXPECT_FALSE(parse_environment(variable).has_value()) << variable;
  }
}

TEST(Override, NeedsAKey) {
  auto setting = parse_override(" node.id = 7 ");
  ASSERT_TRUE(setting.has_value());
  EXPECT_EQ(setting->key, "node.id");
  EXPECT_EQ(setting->value, "7");
  EXPECT_EQ(parse_override("node.id").error(), "--override node.id: expected key=value");
  EXPECT_EQ(parse_override("=1").error(), "--override =1: expected key=value");
}

}  // namespace
}  // namespace pelton::broker
