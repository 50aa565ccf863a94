#include "store/http/body_digests.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string_view>

#include "codec/core/bytes.h"
#include "codec/core/crc32c.h"
#include "codec/core/text.h"
#include "codec/types/base64.h"

namespace unshard {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{256} << 10;

struct FreeDigest {
  void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
};

struct Digest {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
};

Status ForEachPiece(const HttpBody& body, const std::function<void(ByteSpan)>& visit) {
  ByteVector piece;
  for (std::uint64_t done = 0; done < body.size(); done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, body.size() - done)));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t found, body.Read(done, piece));
    if (found != piece.size()) {
      return Fail(ErrorCode::kInternal, "the body of a request ends early");
    }
    visit(piece);
  }
  return {};
}

Result<Digest> DigestOf(const HttpBody& body, const EVP_MD* algorithm) {
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), algorithm, nullptr) != 1) {
    return Fail(ErrorCode::kInternal, "OpenSSL cannot compute a digest");
  }
  UNSHARD_RETURN_IF_ERROR(ForEachPiece(
      body, [&](ByteSpan piece) { EVP_DigestUpdate(context.get(), piece.data(), piece.size()); }));
  Digest digest;
  EVP_DigestFinal_ex(context.get(), digest.bytes.data(), &digest.size);
  return digest;
}

}  // namespace

Result<std::string> Sha256Of(const HttpBody& body) {
  UNSHARD_ASSIGN_OR_RETURN(const Digest digest, DigestOf(body, EVP_sha256()));
  return HexText({digest.bytes.data(), digest.size});
}

Result<std::string> Md5Of(const HttpBody& body) {
  UNSHARD_ASSIGN_OR_RETURN(const Digest digest, DigestOf(body, EVP_md5()));
  return EncodeBase64({digest.bytes.data(), digest.size});
}

Result<std::string> Crc32cOf(const HttpBody& body) {
  std::uint32_t crc32c = 0;
  UNSHARD_RETURN_IF_ERROR(
      ForEachPiece(body, [&](ByteSpan piece) { crc32c = Crc32cExtend(crc32c, piece); }));
  ByteVector bytes;
  AppendU32Be(bytes, crc32c);
  return EncodeBase64(bytes);
}

}  // namespace unshard
