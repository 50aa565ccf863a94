#include "store/gcs/signed_assertion.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "codec/json/json.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

constexpr std::time_t kLifetime = 3600;

template <auto kFree>
struct Freed {
  template <class Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Source = std::unique_ptr<BIO, Freed<BIO_free_all>>;

const unsigned char* Unsigned(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// RFC 4648, 5, without padding.
std::string Base64Url(const std::string& bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), Unsigned(bytes),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return text;
}

std::string Encoded(const JsonValue& value) { return Base64Url(WriteJson(value, 0)); }

// A key with a password is refused: OpenSSL would ask for it on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Key ReadKey(const std::string& pem) {
  const Source source(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!source) return nullptr;
  Key key(PEM_read_bio_PrivateKey(source.get(), nullptr, NoPassword, nullptr));
  if (key && EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) key.reset();
  return key;
}

// "" where it fails.
std::string Sign(EVP_PKEY* key, const std::string& text) {
  const Digest digest(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!digest || EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(digest.get(), nullptr, &size, Unsigned(text), text.size()) != 1) {
    return "";
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Unsigned(text), text.size()) != 1) {
    return "";
  }
  signature.resize(size);
  return signature;
}

}  // namespace

Result<std::string> SignAssertion(const AssertionClaims& claims, const std::string& private_key) {
  const Key key = ReadKey(private_key);
  JsonValue header = JsonValue::Object();
  header.Set("alg", JsonValue::String("RS256"));
  header.Set("typ", JsonValue::String("JWT"));
  if (!claims.key_id.empty()) header.Set("kid", JsonValue::String(claims.key_id));
  JsonValue body = JsonValue::Object();
  body.Set("iss", JsonValue::String(claims.issuer));
  body.Set("scope", JsonValue::String(claims.scope));
  body.Set("aud", JsonValue::String(claims.audience));
  body.Set("iat", JsonValue::Number(static_cast<std::uint64_t>(claims.issued)));
  body.Set("exp", JsonValue::Number(static_cast<std::uint64_t>(claims.issued + kLifetime)));
  const std::string text = Encoded(header) + '.' + Encoded(body);
  const std::string signature = key ? Sign(key.get(), text) : "";
  ERR_clear_error();
  if (!signature.empty()) return text + '.' + Base64Url(signature);
  return Fail(ErrorCode::kInvalidArgument,
              "the private key of the service account cannot sign: expected an RSA key in PEM");
}

}  // namespace unshard
