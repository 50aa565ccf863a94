#include "store/s3/profiles.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(ProfilesTest, SectionsSettingsAndCommentsAreRead) {
  const AwsProfiles profiles = ParseConfigFile(
      "region = nowhere\n"
      "[default]\r\n"
      "Region = eu-west-1   # near\r\n"
      "# a comment\n"
      "; another\n"
      "output=json;not-a-comment\n"
      "s3 =\n"
      "    addressing_style = path\n"
      "    max_queue_size=1\n"
      "credential_process = /bin/a --b \"c d\"\n"
      "\tgoes_on = with the line before\n"
      "[ profile  two ]\n"
      "region=us-east-2\n"
      "[profile]\nregion=bad\n"
      "[sso-session x]\nregion=bad\n"
      "[three]\nregion=bad\n"
      "[broken\nregion=bad\n");
  EXPECT_EQ(profiles.size(), 2u);
  const AwsProfile& standard = profiles.at("default");
  EXPECT_EQ(SettingOf(standard, "region"), "eu-west-1");
  EXPECT_EQ(SettingOf(standard, "output"), "json;not-a-comment");
  EXPECT_EQ(SettingOf(standard, "s3.addressing_style"), "path");
  EXPECT_EQ(SettingOf(standard, "s3.max_queue_size"), "1");
  EXPECT_EQ(SettingOf(standard, "credential_process"), "/bin/a --b \"c d\"");
  EXPECT_EQ(SettingOf(standard, "goes_on"), "");
  EXPECT_EQ(SettingOf(profiles.at("two"), "region"), "us-east-2");
}

TEST(ProfilesTest, CredentialsFilesNameProfilesWithoutAWord) {
  const AwsProfiles profiles = ParseCredentialsFile(
      "[default]\naws_access_key_id=A\n[two]\naws_secret_access_key = a=b+/c==\n");
  EXPECT_EQ(SettingOf(profiles.at("default"), "aws_access_key_id"), "A");
  EXPECT_EQ(SettingOf(profiles.at("two"), "aws_secret_access_key"), "a=b+/c==");
}

TEST(ProfilesTest, WhatBothFilesSetIsTakenFromTheCredentialsFile) {
  const AwsProfiles merged =
      MergeProfiles(ParseConfigFile("[profile x]\na=1\nb=1\n[profile y]\na=1\n"),
                    ParseCredentialsFile("[x]\nb=2\n[z]\na=2\n"));
  EXPECT_EQ(SettingOf(merged.at("x"), "a"), "1");
  EXPECT_EQ(SettingOf(merged.at("x"), "b"), "2");
  EXPECT_EQ(merged.size(), 3u);
}

}  // namespace
}  // namespace unshard
