package recognise

import (
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/plausible"
)

// vendors returns the rules for credentials whose formats their vendors
// document and that gitleaks has no rules for. Each knows the least that a
// credential has; a match grows to the end of its token.
func vendors() []Rule {
	rules := []Rule{
		// Models and what agents call.
		{ID: "anthropic-key", Kind: secret.KindAPIKey, Regex: `\b(sk-ant-[a-z]{3,5}\d\d-[A-Za-z0-9_-]{40})`},
		{ID: "openai-key", Kind: secret.KindAPIKey, Regex: `\b(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40})`},
		{ID: "openrouter-key", Kind: secret.KindAPIKey, Regex: `\b(sk-or-v1-[a-f0-9]{64})`},
		{ID: "xai-key", Kind: secret.KindAPIKey, Regex: `\b(xai-[A-Za-z0-9]{60})`},
		{ID: "groq-key", Kind: secret.KindAPIKey, Regex: `\b(gsk_[A-Za-z0-9]{48})`},
		{ID: "cerebras-key", Kind: secret.KindAPIKey, Regex: `\b(csk-[a-z0-9]{48})`},
		{ID: "together-key", Kind: secret.KindAPIKey, Regex: `\b(tgp_v1_[A-Za-z0-9_-]{40})`},
		{ID: "nvidia-key", Kind: secret.KindAPIKey, Regex: `\b(nvapi-[A-Za-z0-9_-]{60})`},
		{ID: "replicate-token", Kind: secret.KindToken, Regex: `\b(r8_[A-Za-z0-9]{37})`},
		{ID: "elevenlabs-key", Kind: secret.KindAPIKey, Regex: `\b(sk_[a-f0-9]{48})`},
		{ID: "langfuse-key", Kind: secret.KindAPIKey, Regex: `\b(sk-lf-[a-f0-9]{8}-[a-f0-9-]{27})`},
		{ID: "langsmith-key", Kind: secret.KindAPIKey, Regex: `\b(lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10})`},
		{ID: "tavily-key", Kind: secret.KindAPIKey, Regex: `\b(tvly-(?:dev-|prod-)?[A-Za-z0-9]{20})`},
		{ID: "firecrawl-key", Kind: secret.KindAPIKey, Regex: `\b(fc-[a-f0-9]{32})`},
		{ID: "pinecone-key", Kind: secret.KindAPIKey, Regex: `\b(pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50})`},
		{ID: "e2b-key", Kind: secret.KindAPIKey, Regex: `\b(e2b_[a-f0-9]{40})`},
		{ID: "apify-token", Kind: secret.KindToken, Regex: `\b(apify_api_[A-Za-z0-9]{36})`},
		{ID: "cursor-key", Kind: secret.KindAPIKey, Regex: `\b((?:key|crsr)_[a-f0-9]{64})`},
		// Hosts, databases and pipelines.
		{ID: "docker-hub-token", Kind: secret.KindToken, Regex: `\b(dckr_(?:pat|oat)_[A-Za-z0-9_-]{27})`},
		{ID: "docker-swarm-key", Kind: secret.KindToken, Regex: `\b(SWM(?:TKN-1-[0-9a-z]{40}|KEY-1-[A-Za-z0-9+/]{43}))`},
		{ID: "circleci-token", Kind: secret.KindToken, Regex: `\b(CCI(?:PAT|PRJ)_[A-Za-z0-9]{16,30}_[a-f0-9]{40})`},
		{ID: "buildkite-token", Kind: secret.KindToken, Regex: `\b(bkua_[a-f0-9]{40})`},
		{ID: "vercel-token", Kind: secret.KindToken, Regex: `\b(vc[pikar]_[A-Za-z0-9]{24})`},
		{ID: "netlify-token", Kind: secret.KindToken, Regex: `\b(nf[pcoub]_[A-Za-z0-9]{36})`},
		{ID: "render-key", Kind: secret.KindAPIKey, Regex: `\b(rnd_[A-Za-z0-9]{28})`},
		{ID: "deno-token", Kind: secret.KindToken, Regex: `\b(ddp_[A-Za-z0-9]{36})`},
		{ID: "neon-key", Kind: secret.KindAPIKey, Regex: `\b(napi_[a-z0-9]{40})`},
		{ID: "supabase-key", Kind: secret.KindAPIKey, Regex: `\b(sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20})`},
		{ID: "mongodb-atlas-secret", Kind: secret.KindSecret, Regex: `\b(mdb_sa_sk_[A-Za-z0-9_-]{30})`},
		{ID: "tailscale-key", Kind: secret.KindAPIKey, Regex: `\b(tskey-[a-z]{3,10}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{16})`},
		{ID: "doppler-token", Kind: secret.KindToken, Regex: `\b(dp\.(?:ct|sa|scim|audit|said|st)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40})`},
		{ID: "cargo-token", Kind: secret.KindToken, Regex: `\b(cio[A-Za-z0-9]{32})\b`},
		{ID: "sonar-token", Kind: secret.KindToken, Regex: `\b(sq[apu]_[a-f0-9]{40})`},
		{ID: "bitbucket-token", Kind: secret.KindToken, Regex: `\b(ATCTT3[A-Za-z0-9_=-]{60}|ATBB[A-Za-z0-9]{32})`},
		{ID: "google-oauth", Kind: secret.KindToken, Regex: `\b(GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{40}|1//0[A-Za-z0-9_-]{40})`},
		{ID: "azure-storage-key", Kind: secret.KindAPIKey, Regex: `(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43}(?:[A-Za-z0-9+/]{43}=)?=)`},
		{ID: "azure-signature", Kind: secret.KindToken, Regex: `[?&;]sig=([A-Za-z0-9%+/]{43,})`},
		// Services.
		{ID: "slack-session", Kind: secret.KindToken, Regex: `\b(xoxc-\d{9,15}-\d{9,15}-\d{9,15}-[a-f0-9]{64}|xoxd-[A-Za-z0-9%+/=_-]{40})`},
		{ID: "figma-token", Kind: secret.KindToken, Regex: `\b(figd_[A-Za-z0-9_-]{40})`},
		{ID: "posthog-key", Kind: secret.KindAPIKey, Regex: `\b(ph[xsar]_[A-Za-z0-9]{32})`},
		{ID: "resend-key", Kind: secret.KindAPIKey, Regex: `\b(re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24})`},
		{ID: "webhook-signing-secret", Kind: secret.KindSecret, Regex: `\b(whsec_[A-Za-z0-9+/=]{32})`},
	}
	for i := range rules {
		r := &rules[i]
		r.Entropy, r.Validate = 3, plausible.FilledIn
	}
	return rules
}
