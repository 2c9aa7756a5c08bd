// Four validators vote for a block; one signature is damaged.
#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "mldsa.h"

namespace {

void require(mldsa_status status) {
  if (status != MLDSA_STATUS_OK) throw std::runtime_error(mldsa_status_name(status));
}

// Frees a handle with the library's function.
template <typename T, void (*Free)(T *)>
struct Deleter {
  void operator()(T *handle) const { Free(handle); }
};
using PrivateKey = std::unique_ptr<mldsa_private_key, Deleter<mldsa_private_key, mldsa_private_key_free>>;
using PublicKey = std::unique_ptr<mldsa_public_key, Deleter<mldsa_public_key, mldsa_public_key_free>>;
using Committee = std::unique_ptr<mldsa_committee, Deleter<mldsa_committee, mldsa_committee_free>>;

const uint8_t *bytes(const std::string &text) {
  return reinterpret_cast<const uint8_t *>(text.data());
}

}  // namespace

int main() try {
  const std::string context = "example/v1/vote", block = "block 7";
  std::vector<uint8_t> keys;
  std::vector<std::vector<uint8_t>> signatures;
  const std::vector<uint64_t> weights = {10, 10, 10, 10};

  for (size_t i = 0; i < weights.size(); i++) {
    mldsa_private_key *made;
    require(mldsa_private_key_generate(MLDSA_65, &made));
    PrivateKey key(made);
    mldsa_public_key *derived;
    require(mldsa_private_key_public_key(key.get(), &derived));
    PublicKey public_key(derived);
    std::vector<uint8_t> encoded(mldsa_public_key_len(MLDSA_65));
    size_t len = encoded.size();
    require(mldsa_public_key_bytes(public_key.get(), encoded.data(), &len));
    keys.insert(keys.end(), encoded.begin(), encoded.end());
    std::vector<uint8_t> signature(mldsa_signature_len(MLDSA_65));
    len = signature.size();
    require(mldsa_sign(key.get(), bytes(block), block.size(), bytes(context), context.size(),
                       nullptr, signature.data(), &len));
    signatures.push_back(signature);
  }
  signatures[2][100] ^= 1;

  mldsa_committee *built;
  // Epoch 1; a quorum is more than 2/3 of the weight.
  const mldsa_committee_options options = {1, MLDSA_65, MLDSA_THREADS_CALLING, 2, 3};
  require(mldsa_committee_new(&options, bytes(context), context.size(), keys.data(), keys.size(),
                              weights.data(), weights.size(), &built));
  Committee committee(built);

  std::vector<mldsa_vote> votes;
  for (size_t i = 0; i < signatures.size(); i++)
    votes.push_back({static_cast<uint32_t>(i), bytes(block), block.size(), signatures[i].data(),
                     signatures[i].size()});
  std::array<uint8_t, 4> verdicts{};
  const mldsa_status all =
      mldsa_committee_verify_batch(committee.get(), votes.data(), votes.size(), verdicts.data());
  for (size_t i = 0; i < verdicts.size(); i++)
    std::printf("vote %zu: %s\n", i,
                verdicts[i] == MLDSA_VERDICT_VALID ? "valid" : mldsa_status_name(verdicts[i]));

  // The other three are more than two thirds of the weight.
  mldsa_quorum quorum;
  require(mldsa_committee_verify_quorum(committee.get(), MLDSA_RULE_ANY_VALID, bytes(block), block.size(),
                                 votes.data(), votes.size(), &quorum));
  std::printf("quorum: weight %llu of 40\n", static_cast<unsigned long long>(quorum.weight));
  return all == MLDSA_STATUS_REJECTED ? 0 : 1;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
