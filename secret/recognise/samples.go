package recognise

import (
	"crypto/sha256"
	"encoding/hex"
)

// samples are digests of credentials that everybody publishes: the samples of
// standards, manuals and emulators. They open nothing, and stand in
// documentation, tests and answers everywhere.
//
// They are the first sixteen bytes of SHA-256, so that no scanner of source
// code, this one included, stumbles over the list.
var samples = map[string]bool{
	"2cafc0970149a84f3b9e62eaf169f36f": true, // Stripe, API reference
	"f2d6ca16515033e5dce14eba840b979d": true, // Stripe, API reference
	"2d1f7723aabc5c7a51fcdc2463c99b5f": true, // Stripe, API reference
	"b1471f544ceeea31333bde7e1ecbaad6": true, // Stripe, publishable
	"7f75367e7881255134e1375e723d1dea": true, // jwt.io, HS256
	"c794fa6d20c64efb9adf980ae93af472": true, // jwt.io, HS256 with a known key
	"da816f9f2c16e6c5390e7636cadc40c4": true, // jwt.io, until 2017
	"8d4ef6536dc8895f256c1e0d95dcd197": true, // RFC 7515, appendix A.1
	"6c96130f130ab0d6d158397e24d2bcc1": true, // RFC 6749, section 4.1
	"00cf4c781dc37003f7c7dd7d4c9a6ef1": true, // RFC 6749, section 4.1
	"ca7459e2b26776de081b9a07e40227fd": true, // RFC 6749, section 2.3.1
	"e9974c507d2a802143f614c878fcbb62": true, // RFC 6749, section 2.3.1
	"b8e148545b13c78bc74da2f1a7275dd7": true, // RFC 6750, section 2.1
	"cf4d418ed3de92d71f767db5391d5a2d": true, // RFC 7617, section 2
	"1a5d44a2dca19669d72edf4c4f1c27c4": true, // AWS, documentation
	"c6ea27c534f993d31f0aef882e3d200e": true, // AWS, documentation
	"78314b11be2e581549ac1c4f616563fa": true, // AWS, documentation
	"e21b597ba6b9cafa59d9ebc4d65c0385": true, // AWS, documentation
	"aa6547439583c3a275d4542a0df6c1ad": true, // Azure Cosmos DB emulator
	"0011cc25eb4320717494d2703e8cba85": true, // Azurite
	"3543c50b0cb9cea8e55eb1f529b79f04": true, // GitHub, documentation
	"bc3ae723f57c6b9e3fd80b699fcc420f": true, // GitHub, documentation
	"82e74299544e00738f9c0acb69b1eb34": true, // GitHub, documentation
}

// sample reports whether v is a published sample.
func sample(v []byte) bool {
	if len(v) < 10 || len(v) > 400 {
		return false
	}
	sum := sha256.Sum256(v)
	return samples[hex.EncodeToString(sum[:16])]
}
