#include "reactor/uring_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reactor/uring_io.h"

namespace pelton {
namespace {

using testing::HasSubstr;

HostFacts facts(std::optional<int> disabled) { return {"6.1.0-57-cloud-amd64", disabled, 8u << 20}; }

TEST(UringSetup, TellsTheSysctlThatForbids) {
  EXPECT_THAT(explain_ring_error(EPERM, facts(2)), HasSubstr("kernel.io_uring_disabled is 2"));
  EXPECT_THAT(explain_ring_error(EPERM, facts(2)), HasSubstr("sysctl -w kernel.io_uring_disabled=0"));
  EXPECT_THAT(explain_ring_error(EPERM, facts(1)), HasSubstr("kernel.io_uring_group"));
  EXPECT_THAT(explain_ring_error(EPERM, facts(0)), HasSubstr("seccomp"));
  EXPECT_THAT(explain_ring_error(EPERM, facts(std::nullopt)), HasSubstr("not there"));
}

TEST(UringSetup, TellsOtherReasons) {
  EXPECT_THAT(explain_ring_error(ENOSYS, facts(0)), HasSubstr("CONFIG_IO_URING"));
  EXPECT_THAT(explain_ring_error(ENOMEM, facts(0)), HasSubstr("8192 KiB"));
  EXPECT_THAT(explain_ring_error(EMFILE, facts(0)), HasSubstr("EMFILE"));
  for (int error : {EPERM, ENOSYS, ENOMEM, EINVAL})
    EXPECT_THAT(explain_ring_error(error, facts(0)), testing::Not(HasSubstr("\n")));
}

TEST(UringSetup, KnowsTheFloor) {
  auto old = [](const char* release) { return explain_old_kernel({release, {}, 0}); };
  EXPECT_THAT(old("5.15.0-100-generic").value(), HasSubstr("6.1 or newer"));
  EXPECT_TRUE(old("6.0.19").has_value());
  EXPECT_FALSE(old("6.1.0").has_value());
  EXPECT_FALSE(old("6.18.44-x").has_value());
  EXPECT_FALSE(old("7.0").has_value());
  EXPECT_FALSE(old("strange").has_value());
}

TEST(UringSetup, FailsWithAReasonWhenDescriptorsAreOut) {
  // In a child: the limit would hurt the other tests.
  pid_t child = ::fork();
  if (child == 0) {
    rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    auto io = UringIo::create();
    ::_exit(!io && io.error().find("EMFILE") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(UringSetup, FeaturesNameKernelAndPageCacheWay) {
  auto io = UringIo::create();
  ASSERT_TRUE(io) << io.error();
  EXPECT_THAT((*io)->features(), HasSubstr(read_host_facts().kernel_release));
  EXPECT_THAT((*io)->features(), testing::Not(HasSubstr("\n")));
  UringOptions options;
  options.force_cache_probe = true;
  auto forced = UringIo::create(options);
  ASSERT_TRUE(forced) << forced.error();
  EXPECT_THAT((*forced)->features(), HasSubstr("RWF_NOWAIT"));
}

}  // namespace
}  // namespace pelton
