#include "store/s3/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace unshard {
namespace {

std::string Page(const std::string& inside) {
  return "<?xml version=\"1.0\"?><ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         inside + "</ListBucketResult>";
}
std::string File(const std::string& key) { return "<Contents><Key>" + key + "</Key></Contents>"; }
std::string Directory(const std::string& key) {
  return "<CommonPrefixes><Prefix>" + key + "</Prefix></CommonPrefixes>";
}

std::string Names(const Result<ListedPage>& page) {
  if (!page) return "failed: " + page.error().message;
  std::string names;
  for (const ListedPage::Entry& entry : page->entries) {
    names += (names.empty() ? "" : " ") + entry.name;
    if (entry.kind == ObjectInfo::Kind::kDirectory) names += '/';
  }
  return names;
}

TEST(S3PageTest, HasTheNamesBelowItsPrefix) {
  EXPECT_EQ(Names(ParseS3Page(
                Page(File("a/") + File("a/b") + File("a/c&amp;d") + Directory("a/e/")), "a/")),
            "b c&d e/");
  EXPECT_EQ(Names(ParseS3Page(Page(File("b") + Directory("e/")), "")), "b e/");
  EXPECT_EQ(Names(ParseS3Page(Page(""), "a/")), "");
}

TEST(S3PageTest, UnescapesWhereTheAnswerSaysThatItIsEscaped) {
  const std::string key = File("a/b%2Fc") + File("a/d+%41%");
  EXPECT_EQ(Names(ParseS3Page(Page("<EncodingType>url</EncodingType>" + key), "a/")), "d A%")
      << "the first is not directly below";
  EXPECT_EQ(Names(ParseS3Page(Page(key), "a/")), "b%2Fc d+%41%");
}

TEST(S3PageTest, GoesOnWhereItIsCut) {
  const auto cut = ParseS3Page(
      Page("<IsTruncated>true</IsTruncated><NextContinuationToken>t/=</NextContinuationToken>"),
      "");
  EXPECT_EQ(cut->next, "t/=");
  EXPECT_EQ(ParseS3Page(Page("<IsTruncated>false</IsTruncated><NextContinuationToken>t"
                             "</NextContinuationToken>"),
                        "")
                ->next,
            "");
  EXPECT_FALSE(ParseS3Page(Page("<IsTruncated>true</IsTruncated>"), ""));
}

TEST(S3PageTest, LeavesOutWhatNoPathCanName) {
  EXPECT_EQ(
      Names(ParseS3Page(Page("<EncodingType>url</EncodingType>" + File("..") + File(".") +
                             File("a%00") + Directory("/") + Directory("../") +
                             File(std::string(256, 'x')) + File("..%2F..%2Fetc") + File("ok")),
                        "")),
      "ok");
  EXPECT_EQ(
      Names(ParseS3Page(
          Page(File("a") + File("a") + Directory("a/") + Directory("b/") + Directory("b/")), "")),
      "a b/");
}

TEST(S3PageTest, AFolderIsThereAlsoWithoutANameInIt) {
  EXPECT_TRUE(ParseS3Page(Page(File("a/")), "a/")->any);
  EXPECT_TRUE(ParseS3Page(Page(Directory("a//")), "a/")->any);
  EXPECT_FALSE(ParseS3Page(Page(""), "a/")->any);
}

TEST(S3PageTest, RefusesWhatIsNoListingOfThePrefix) {
  for (const std::string& body :
       {std::string(), std::string("text"), std::string("<Error/>"), Page(File("other/b")),
        std::string("<ListBucketResult>"), std::string(kMaxS3Answer + 1, ' ')}) {
    const auto page = ParseS3Page(body, "a/");
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().system_errno, EPROTO);
  }
}

TEST(S3PageTest, KnowsNoEntitiesOfADocumentsOwn) {
  const std::string bomb =
      "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">"
      "<!ENTITY f SYSTEM \"file:///etc/passwd\">]>";
  EXPECT_EQ(
      Names(ParseS3Page(bomb + "<ListBucketResult>" + File("&b;&f;") + "</ListBucketResult>", "")),
      "&b;&f;");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  EXPECT_FALSE(ParseS3Page(deep, ""));
}

TEST(S3FailureTest, HasACodeAMessageAndARegion) {
  const auto failure = ParseS3Failure(
      "<Error><Code>PermanentRedirect</Code><Message>go\nthere\x1b[0m</Message>"
      "<Region>eu-west-1</Region></Error>");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, "PermanentRedirect");
  EXPECT_EQ(failure->message.find('\x1b'), std::string::npos);
  EXPECT_EQ(failure->region, "eu-west-1");
  EXPECT_EQ(
      ParseS3Failure("<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
          ->code,
      "AccessDenied");
  for (const char* body : {"", "<html>no</html>", "<Error/>", "<Error><Code>a b</Code></Error>"}) {
    EXPECT_FALSE(ParseS3Failure(body)) << body;
  }
}

TEST(CredentialsDocumentTest, IsReadFromXmlAndJson) {
  const auto role = ParseStsAnswer(
      "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult>"
      "<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey>"
      "<SessionToken>T</SessionToken><Expiration>2026-11-24T03:00:00Z</Expiration></Credentials>"
      "</AssumeRoleResult></AssumeRoleResponse>");
  ASSERT_TRUE(role) << role.error().message;
  EXPECT_EQ(role->credentials.access_key_id + role->credentials.secret_access_key +
                role->credentials.session_token,
            "AST");
  EXPECT_EQ(role->expires, 1795489200);
  const auto machine = ParseCredentialsDocument(
      R"({"Code":"Success","AccessKeyId":"A","SecretAccessKey":"S","Token":"T","Expiration":"2026-11-24T03:00:00Z"})");
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->credentials.session_token, "T");
  EXPECT_EQ(machine->expires, 1795489200);
  const auto process =
      ParseCredentialsDocument(R"({"Version":1,"AccessKeyId":"A","SecretAccessKey":"S"})");
  EXPECT_TRUE(process && !process->expires && process->credentials.session_token.empty());
}

TEST(CredentialsDocumentTest, IsRefusedWithoutItsTextWhereItIsNone) {
  for (const char* text : {"", "{}", R"({"AccessKeyId":"A"})", R"({"SecretAccessKey":"hidden"})",
                           R"({"AccessKeyId":"A\r\nX: 1","SecretAccessKey":"hidden"})",
                           R"({"AccessKeyId":"A","SecretAccessKey":"hidden","Expiration":"soon"})",
                           R"({"AccessKeyId":"A","SecretAccessKey":"hidden","Token":"a b"})"}) {
    const auto found = ParseCredentialsDocument(text);
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().message.find("hidden"), std::string::npos);
  }
  EXPECT_FALSE(ParseStsAnswer("<a><bResult><Credentials/></bResult></a>"));
}

std::string AclOf(const std::string& grants) {
  return "<?xml version=\"1.0\"?><AccessControlPolicy "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
         "<Owner><ID>me</ID><DisplayName>Me, \"myself\"</DisplayName></Owner><AccessControlList>" +
         grants + "</AccessControlList></AccessControlPolicy>";
}
std::string GrantOf(const std::string& grantee, const std::string& permission) {
  return "<Grant><Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
         "xsi:type=\"Group\">" +
         grantee + "</Grantee><Permission>" + permission + "</Permission></Grant>";
}

TEST(S3GrantsTest, AreFieldsOfAPut) {
  const std::string mine = GrantOf("<ID>me</ID><DisplayName>Me</DisplayName>", "FULL_CONTROL");
  const std::string all = "<URI>http://acs.amazonaws.com/groups/global/AllUsers</URI>";
  const auto grants =
      ParseS3Grants(AclOf(mine + GrantOf(all, "READ") + GrantOf("<ID>you</ID>", "READ") +
                          GrantOf("<ID>you</ID>", "WRITE_ACP")));
  ASSERT_TRUE(grants);
  ASSERT_EQ(grants->size(), 3U);
  EXPECT_EQ(FindHeader(*grants, "x-amz-grant-full-control"), "id=\"me\"");
  EXPECT_EQ(FindHeader(*grants, "x-amz-grant-read"),
            "uri=\"http://acs.amazonaws.com/groups/global/AllUsers\", id=\"you\"");
  EXPECT_EQ(FindHeader(*grants, "x-amz-grant-write-acp"), "id=\"you\"");
  const auto private_ones = ParseS3Grants(AclOf(mine));
  EXPECT_TRUE(private_ones && private_ones->empty()) << "as without fields";
  for (const std::string& text :
       {std::string(), std::string("<Error/>"), AclOf(GrantOf("<ID>me</ID>", "WRITE")),
        AclOf(GrantOf("", "READ")), AclOf(GrantOf("<ID>a\"b</ID>", "READ")),
        AclOf(GrantOf("<ID>a,b</ID>", "READ")), AclOf(GrantOf("<ID>a&#10;b</ID>", "READ"))}) {
    EXPECT_FALSE(ParseS3Grants(text)) << text;
  }
}

}  // namespace
}  // namespace unshard
