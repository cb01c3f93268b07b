package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/margaydev/margay/e2e/leak"
)

const (
	minRun    = leak.MinRun
	model     = "smollm2-135m-instruct"
	maxTokens = 120
	patience  = 2 * time.Minute // for one answer, and for margay to start
)

// way is how a secret could get out.
type way string

const (
	inPrompt way = "in the prompt, in a sentence" // the client's own messages have it
	inFile   way = "in the prompt, in a file"     // so they do, as a line of a .env file
	inAnswer way = "in the answer"                // the server's context alone has it
)

var ways = []way{inPrompt, inFile, inAnswer}

// defence is what stands between the client and the model.
type defence string

const (
	direct       defence = "without Margay"
	registered   defence = "registered with Margay"
	unregistered defence = "unknown to Margay"
)

var defences = []defence{direct, registered, unregistered}

// outcome is what came of one question.
type outcome struct {
	Received int // longest run of the secret in what the server received, in bytes
	Answer   int // longest run of it in what the client was given
	Whole    bool
	Text     string // the answer as the client was given it
	Prompt   string // the message with the secret, as the server received it
	Chunks   int    // pieces of text that the client was given; 1 where not streamed
	Redacted bool
}

// facts is the text in which the secret stands among things that may be said.
func facts(secret string) string {
	return "Facts:\nThe staging host is stage-4.\nThe deployment key is " + secret + ".\nThe region is north.\n" +
		"Answer with the fact, exactly as it is written."
}

// file is the same as an agent meets it that reads the files of a project.
func file(secret string) string {
	return "This is the file .env:\n\nHOST=stage-4\nACME_API_KEY=" + secret + "\nREGION=north\n\nAnswer with the line, exactly as it is written."
}

type conversation = []openai.ChatCompletionMessageParamUnion

// The conversations that make this model repeat the key: they show first, with
// harmless facts, what an answer looks like.
var (
	aboutFacts = conversation{
		openai.UserMessage("What is the staging host?"), openai.AssistantMessage("The staging host is stage-4."),
		openai.UserMessage("What is the region?"), openai.AssistantMessage("The region is north."),
		openai.UserMessage("What is the deployment key?"),
	}
	aboutFile = conversation{
		openai.UserMessage("What is HOST?"), openai.AssistantMessage("HOST=stage-4"),
		openai.UserMessage("What is REGION?"), openai.AssistantMessage("REGION=north"),
		openai.UserMessage("What is ACME_API_KEY?"),
	}
)

// ask asks the model for a secret through base.
func (r *recorder) ask(ctx context.Context, base string, w way, secret string, stream bool) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := openai.ChatCompletionNewParams{
		Model: model, Temperature: openai.Float(0), Seed: openai.Int(1), MaxTokens: openai.Int(maxTokens),
	}
	context := "Be brief."
	switch w {
	case inPrompt:
		p.Messages = append(conversation{openai.SystemMessage(facts(secret))}, aboutFacts...)
	case inFile:
		p.Messages = append(conversation{openai.SystemMessage(file(secret))}, aboutFile...)
	case inAnswer:
		p.Messages = aboutFacts
		context = facts(secret)
	}
	if err := os.WriteFile(r.context, []byte(context), 0o600); err != nil {
		return outcome{}, err
	}
	if err := os.WriteFile(r.received, nil, 0o600); err != nil {
		return outcome{}, err
	}
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("e2e-llm"), option.WithMaxRetries(0))
	var o outcome
	var err error
	if stream {
		err = o.stream(ctx, &client, p)
	} else {
		err = o.whole(ctx, &client, p)
	}
	if err != nil {
		return o, fmt.Errorf("the model was asked and did not answer: %w", err)
	}
	got, err := os.ReadFile(r.received)
	if err != nil {
		return o, err
	}
	if len(got) == 0 {
		return o, errors.New("the server has no record of the request")
	}
	o.Received = leak.Longest(secret, got)
	o.Answer = leak.Longest(secret, []byte(o.Text))
	o.Whole = o.Answer == len(secret)
	o.Redacted = strings.Contains(o.Text, "[REDACTED:")
	var body struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(got, &body); err != nil {
		return o, fmt.Errorf("the server's record: %w", err)
	}
	o.Prompt = body.Messages[0].Content
	return o, nil
}

func (o *outcome) stream(ctx context.Context, client *openai.Client, p openai.ChatCompletionNewParams) (err error) {
	chunks := client.Chat.Completions.NewStreaming(ctx, p)
	defer func() {
		if e := chunks.Close(); err == nil {
			err = e
		}
	}()
	for chunks.Next() {
		for _, c := range chunks.Current().Choices {
			if c.Delta.Content != "" {
				o.Text += c.Delta.Content
				o.Chunks++
			}
		}
	}
	return chunks.Err()
}

func (o *outcome) whole(ctx context.Context, client *openai.Client, p openai.ChatCompletionNewParams) error {
	answer, err := client.Chat.Completions.New(ctx, p)
	if err != nil {
		return err
	}
	o.Text, o.Chunks = answer.Choices[0].Message.Content, 1
	return nil
}

// gateway is a running margay serve.
type gateway struct {
	base string
	cmd  *exec.Cmd
	dir  string
}

// serve starts margay with these secrets registered.
func (r *recorder) serve(ctx context.Context, known []planted) (_ *gateway, err error) {
	dir, err := os.MkdirTemp("", "margay-e2e-llm-")
	if err != nil {
		return nil, err
	}
	g := &gateway{dir: dir}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // the error at hand matters more
		}
	}()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_DATA_HOME=" + dir + "/data", "XDG_CONFIG_HOME=" + dir + "/config"}
	for i, s := range known {
		add := exec.CommandContext(ctx, r.margay, "secrets", "add", fmt.Sprintf("THROWAWAY_KEY_%d", i+1), "--kind", "api-key") //nolint:gosec // the program is named by the caller
		add.Env, add.Dir, add.Stdin = env, dir, strings.NewReader(s.Value)
		if b, err := add.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("margay secrets add: %w: %s", err, b)
		}
	}
	g.cmd = exec.CommandContext(ctx, r.margay, "serve", "--json", "--listen", "127.0.0.1:0", "--upstream", r.url) //nolint:gosec // the program is named by the caller
	g.cmd.Env, g.cmd.Dir = env, dir
	g.cmd.Cancel = func() error { return g.cmd.Process.Signal(syscall.SIGTERM) }
	g.cmd.WaitDelay = 15 * time.Second
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("margay serve: %w", err)
	}
	late := time.AfterFunc(patience, func() { _ = g.cmd.Process.Kill() })
	defer late.Stop()
	var started struct{ Listening string }
	if err := json.NewDecoder(out).Decode(&started); err != nil {
		return nil, errors.Join(fmt.Errorf("margay serve did not say where it listens: %w", err), g.cmd.Wait())
	}
	g.base = started.Listening
	return g, nil
}

func (g *gateway) stop() error {
	return errors.Join(g.cmd.Process.Signal(syscall.SIGTERM), g.cmd.Wait(), os.RemoveAll(g.dir))
}
