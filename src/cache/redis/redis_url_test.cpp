#include "cache/redis/redis_url.h"

#include <gtest/gtest.h>

namespace antegrad::cache {
namespace {

RedisPlace parsed(const std::string& url) {
  const auto out = parse_redis_url(url);
  EXPECT_TRUE(out.place) << url << ": " << out.problem;
  return out.place.value_or(RedisPlace{});
}

TEST(RedisUrlTest, Network) {
  auto place = parsed("redis://example.org");
  EXPECT_EQ(place.host, "example.org");
  EXPECT_EQ(place.port, "6379");
  EXPECT_FALSE(place.tls);
  place = parsed("rediss://user:p%40ss%2f/@x@10.0.0.1:7000/3");
  EXPECT_TRUE(place.tls);
  EXPECT_EQ(place.user, "user");
  EXPECT_EQ(place.password, "p@ss//@x");
  EXPECT_EQ(place.host, "10.0.0.1");
  EXPECT_EQ(place.database, 3u);
  EXPECT_EQ(place.to_text(), "rediss://10.0.0.1:7000/3");
  place = parsed("redis://:secret@[::1]:7001/");
  EXPECT_EQ(place.host, "::1");
  EXPECT_EQ(place.port, "7001");
  EXPECT_EQ(place.password, "secret");
  EXPECT_EQ(place.to_text(), "redis://[::1]:7001");
}

TEST(RedisUrlTest, UnixSockets) {
  auto place = parsed("unix:///run/redis.sock");
  EXPECT_EQ(place.path, "/run/redis.sock");
  EXPECT_EQ(place.to_text(), "unix:///run/redis.sock");
  place = parsed("unix://:secret@/run/a@/b%3F?db=12");
  EXPECT_EQ(place.path, "/run/a@/b?");
  EXPECT_EQ(place.password, "secret");
  EXPECT_EQ(place.database, 12u);
  EXPECT_EQ(place.to_text(), "unix:///run/a@/b??db=12");
}

TEST(RedisUrlTest, WhatIsNoUrlIsSaidWithoutThePassword) {
  for (const std::string url : {"",
                                "redis:",
                                "http://:hidden@host",
                                "redis://",
                                "redis://:hidden@",
                                "redis://hidden@host",
                                "redis://:hidden@host:0",
                                "redis://:hidden@host:70000",
                                "redis://:hidden@host:x",
                                "redis://:hidden@host/x",
                                "redis://:hidden%4@host",
                                "redis://:hidden%00@host",
                                "redis://[::1",
                                "redis://[::1]7",
                                "unix://",
                                "unix://:hidden@",
                                "unix://relative",
                                "unix:///path?db=",
                                "unix:///path?db=-1",
                                "redis://host/1/2"}) {
    const auto out = parse_redis_url(url);
    EXPECT_FALSE(out.place) << url;
    EXPECT_TRUE(out.problem.starts_with("its URL ")) << url << ": " << out.problem;
    EXPECT_EQ(out.problem.find("hidden"), std::string::npos) << out.problem;
  }
  EXPECT_FALSE(parse_redis_url("unix:///" + std::string(200, 'x')).place);
}

}  // namespace
}  // namespace antegrad::cache
