#include "store/s3/credentials.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>

#include "store/s3/credential_process.h"
#include "tests/support/folders.h"
#include "tests/support/http_servers.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

using Variables = std::map<std::string, std::string>;

class CredentialsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{SourceFolder() + "/tests/servers/aws_credentials"}, 1);
  }
  static void TearDownTestSuite() { server_.reset(); }

  // "key secret token", and nothing else where they do not expire; or the message.
  std::string Find(Variables variables) {
    variables.emplace("HOME", home_.path());
    variables.emplace("AWS_EC2_METADATA_DISABLED", "true");
    if (!server_->lines().empty()) variables.emplace("AWS_ENDPOINT_URL_STS", server_->lines()[0]);
    const Environment environment = [variables](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    };
    const Deadline deadline{std::chrono::steady_clock::now() + std::chrono::seconds(20), {}};
    const auto found = FindCredentials({environment, "bucket", "eu-west-1"}, deadline);
    if (!found) {
      EXPECT_EQ(found.error().message.find("SECRET"), std::string::npos) << "no secret in messages";
      return found.error().message;
    }
    const AwsCredentials& credentials = found->credentials;
    std::string text = credentials.access_key_id + ' ' + credentials.secret_access_key + ' ' +
                       credentials.session_token;
    if (found->expires) text += *found->expires > std::time(nullptr) ? " expires" : " has expired";
    return text;
  }
  static std::string Of(const std::string& name) {
    return "KEY-" + name + " SECRET-" + name + " TOKEN-" + name + " expires";
  }
  static std::string Url() { return server_->lines().empty() ? "" : server_->lines()[0]; }

  TemporaryDirectory home_;
  static inline std::unique_ptr<ServerProcess> server_;
};

const Variables kKeys{{"AWS_ACCESS_KEY_ID", "KEY"}, {"AWS_SECRET_ACCESS_KEY", "SECRET"}};

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CredentialsTest, TheEnvironmentComesFirst) {
  home_.Write(".aws/credentials", "[default]\naws_access_key_id=P\naws_secret_access_key=SECRET\n");
  EXPECT_EQ(Find(kKeys), "KEY SECRET ");
  Variables with_token = kKeys;
  with_token["AWS_SESSION_TOKEN"] = "TOKEN";
  EXPECT_EQ(Find(with_token), "KEY SECRET TOKEN");
  EXPECT_EQ(Find({}), "P SECRET ");
}

TEST_F(CredentialsTest, HalfOfThemEndsTheSearch) {
  home_.Write(".aws/credentials", "[default]\naws_access_key_id=P\naws_secret_access_key=SECRET\n");
  EXPECT_TRUE(Holds(Find({{"AWS_ACCESS_KEY_ID", "KEY"}}), "no secret access key"));
  EXPECT_TRUE(Holds(Find({{"AWS_SECRET_ACCESS_KEY", "SECRET"}}), "no access key id"));
}

TEST_F(CredentialsTest, WithoutAnyEveryPlaceIsNamed) {
  const std::string message = Find({});
  for (const char* place : {"AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", ".aws/credentials",
                            ".cloudvolume", "CONTAINER", "metadata service", "anonymous"}) {
    EXPECT_TRUE(Holds(message, place)) << place << ": " << message;
  }
}

TEST_F(CredentialsTest, SecretsOfCloudVolumeAreOfABucketOrOfAll) {
  home_.Write(".cloudfiles/secrets/aws-secret.json",
              R"({"AWS_ACCESS_KEY_ID":"A","AWS_SECRET_ACCESS_KEY":"SECRET"})");
  EXPECT_EQ(Find({}), "A SECRET ");
  home_.Write(".cloudvolume/secrets/bucket-aws-secret.json",
              R"({"AWS_ACCESS_KEY_ID":"B","AWS_SECRET_ACCESS_KEY":"SECRET"})");
  EXPECT_EQ(Find({}), "B SECRET ");
  home_.Write(".cloudvolume/secrets/bucket-aws-secret.json", "SECRET");
  EXPECT_TRUE(Holds(Find({}), "is not a JSON object"));
}

TEST_F(CredentialsTest, TheEnvironmentNamesFilesAndFoldersInPlaceOfThoseOfTheHome) {
  home_.Write(".aws/credentials", "[base]\naws_access_key_id=H\naws_secret_access_key=SECRET\n");
  home_.Write(".cloudfiles/secrets/aws-secret.json",
              R"({"AWS_ACCESS_KEY_ID":"H","AWS_SECRET_ACCESS_KEY":"SECRET"})");
  home_.Write("config",
              "[profile lab]\nrole_arn = arn:aws:iam::1:role/lab\nsource_profile = base\n");
  home_.Write("keys", "[base]\naws_access_key_id=KEY\naws_secret_access_key=SECRET\n");
  EXPECT_EQ(Find({{"AWS_CONFIG_FILE", home_.At("config")},
                  {"AWS_SHARED_CREDENTIALS_FILE", home_.At("keys")},
                  {"AWS_PROFILE", "lab"}}),
            Of("lab"));
  home_.Write("files/secrets/aws-secret.json",
              R"({"AWS_ACCESS_KEY_ID":"A","AWS_SECRET_ACCESS_KEY":"SECRET"})");
  Variables folders{{"CLOUD_FILES_DIR", home_.At("files")}};
  EXPECT_EQ(Find(folders), "A SECRET ");
  home_.Write("volumes/secrets/bucket-aws-secret.json",
              R"({"AWS_ACCESS_KEY_ID":"B","AWS_SECRET_ACCESS_KEY":"SECRET"})");
  folders["CLOUD_VOLUME_DIR"] = home_.At("volumes");
  EXPECT_EQ(Find(folders), "B SECRET ");
}

TEST_F(CredentialsTest, StsIsAskedByHttpsButOnThisMachine) {
  home_.Write("token", "TOKEN");
  const Variables variables{{"AWS_WEB_IDENTITY_TOKEN_FILE", home_.At("token")},
                            {"AWS_ROLE_ARN", "arn:aws:iam::1:role/lab"},
                            {"AWS_ENDPOINT_URL_STS", "http://192.0.2.1:9"}};
  const std::string message = Find(variables);
  EXPECT_TRUE(Holds(message, "plain http to http://192.0.2.1:9")) << message;
}

TEST_F(CredentialsTest, AWebIdentityAssumesItsRole) {
  home_.Write("token", "web-token\n");
  const Variables identity{{"AWS_WEB_IDENTITY_TOKEN_FILE", home_.At("token")},
                           {"AWS_ROLE_ARN", "arn:aws:iam::1:role/web"}};
  EXPECT_EQ(Find(identity), Of("web"));
  Variables named = identity;
  named["AWS_ROLE_SESSION_NAME"] = "a+b@lab";
  EXPECT_EQ(Find(named), Of("web-by-a+b@lab"));
  home_.Write("token", "SECRET-other");
  EXPECT_TRUE(Holds(Find(identity), "AccessDenied"));
  EXPECT_TRUE(Holds(Find({{"AWS_WEB_IDENTITY_TOKEN_FILE", home_.At("token")}}), "AWS_ROLE_ARN"));
}

TEST_F(CredentialsTest, AProfileAssumesARoleByAnotherOne) {
  home_.Write(".aws/config",
              "[profile lab]\nrole_arn = arn:aws:iam::1:role/lab\nsource_profile = base\n"
              "[profile loop]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = loop2\n"
              "[profile loop2]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = loop\n"
              "[profile environment]\nrole_arn = arn:aws:iam::1:role/e\n"
              "credential_source = Environment\n"
              "[profile web]\nrole_arn = arn:aws:iam::1:role/web\nweb_identity_token_file = " +
                  home_.At("token") +
                  "\n[profile sso]\nsso_session = x\n"
                  "[profile nobody]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = absent\n");
  home_.Write(".aws/credentials", "[base]\naws_access_key_id=KEY\naws_secret_access_key=SECRET\n");
  home_.Write("token", "web-token\n");
  EXPECT_EQ(Find({{"AWS_PROFILE", "lab"}}), Of("lab"));
  EXPECT_EQ(Find({{"AWS_PROFILE", "web"}}), Of("web"));
  EXPECT_TRUE(Holds(Find({{"AWS_PROFILE", "loop"}}), "too many profiles refer to each other"));
  EXPECT_TRUE(Holds(Find({{"AWS_PROFILE", "sso"}}), "not supported"));
  EXPECT_TRUE(Holds(Find({{"AWS_PROFILE", "nobody"}}), "no credentials to assume it with"));
  EXPECT_TRUE(Holds(Find({{"AWS_PROFILE", "environment"}}), "no credentials to assume it with"));
}

TEST_F(CredentialsTest, AProcessPrintsThem) {
  home_.Write("print",
              "#!/bin/sh\n[ \"$1\" = 'a b' ] || exit 3\n"
              "echo '{\"Version\":1,\"AccessKeyId\":\"P\",\"SecretAccessKey\":\"SECRET\"}'\n");
  std::filesystem::permissions(home_.At("print"), std::filesystem::perms::owner_all);
  home_.Write(".aws/config", "[default]\ncredential_process = " + home_.At("print") + " \"a b\"\n");
  EXPECT_EQ(Find({}), "P SECRET ");
  home_.Write(".aws/config", "[default]\ncredential_process = " + home_.At("print") + "\n");
  EXPECT_TRUE(Holds(Find({}), "fails"));
  home_.Write(".aws/config", "[default]\ncredential_process = echo SECRET\n");
  EXPECT_TRUE(Holds(Find({}), "prints no credentials"));
  home_.Write(".aws/config", "[default]\ncredential_process = " + home_.At("absent") + "\n");
  EXPECT_TRUE(Holds(Find({}), "credential_process"));
}

TEST_F(CredentialsTest, AContainerHasThemForItsToken) {
  Variables container{{"AWS_CONTAINER_CREDENTIALS_FULL_URI", Url() + "/container"},
                      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token"}};
  EXPECT_EQ(Find(container), Of("container"));
  home_.Write("token", "container-token\n");
  container["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "SECRET-wrong";
  container["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = home_.At("token");
  EXPECT_EQ(Find(container), Of("container"));
  container.erase("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  EXPECT_TRUE(Holds(Find(container), "HTTP 403"));
  for (const char* url : {"http://example.org/x", "http://localhost.example.org/x",
                          "http://127.0.0.1.example.org/x"}) {
    container["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    EXPECT_TRUE(Holds(Find(container), "plain http")) << url;
  }
}

TEST_F(CredentialsTest, AMachineHasARole) {
  Variables machine{{"AWS_EC2_METADATA_SERVICE_ENDPOINT", Url()},
                    {"AWS_EC2_METADATA_DISABLED", "false"}};
  EXPECT_EQ(Find(machine), Of("machine"));
  machine["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_TRUE(Holds(Find(machine), "none were found"));
  machine["AWS_EC2_METADATA_DISABLED"] = "";
  machine["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:9";
  EXPECT_TRUE(Holds(Find(machine), "none were found")) << "no such service here";
}

TEST(CredentialProcessTest, WordsAreThoseOfAShellWithoutItsExpansions) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(WordsOf("  a  b\tc "), (Words{"a", "b", "c"}));
  EXPECT_EQ(WordsOf("a \"b c\" 'd \"e' f\\ g ''"), (Words{"a", "b c", "d \"e", "f g", ""}));
  EXPECT_EQ(WordsOf("$(rm x) ~ * | y"), (Words{"$(rm", "x)", "~", "*", "|", "y"}));
  EXPECT_FALSE(WordsOf("a \"b"));
}

TEST(CredentialProcessTest, ADeadlineEndsIt) {
  for (const char* command : {"sleep 1000", "sh -c 'exec >&-; sleep 1000'"}) {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    const auto found = AskProcess(command, {soon, {}});
    ASSERT_FALSE(found) << command;
    EXPECT_EQ(found.error().system_errno, ETIMEDOUT) << command;
  }
}

}  // namespace
}  // namespace unshard
