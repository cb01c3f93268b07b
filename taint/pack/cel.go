package pack

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/taint"
)

// Bounds of an expression.
const (
	maxExpression = 1000   // code points
	maxCost       = 20_000 // CEL's units; a size or a comparison is a few
)

// environment is what expressions see: the tool's name, its arguments as a
// map, the texts of the user's messages.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("tool", cel.StringType),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("user", cel.ListType(cel.StringType)),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(32),
	)
})

// errNoBool says that an expression gave something else than a truth.
var errNoBool = errors.New("the expression gives no truth")

// predicate compiles an expression. It costs at most maxCost, whatever the
// arguments are.
func predicate(expr string) (taint.Predicate, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	tree, issues := env.Compile(expr)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%w: %s", taint.ErrCond, strings.SplitN(issues.Err().Error(), "\n", 2)[0])
	}
	if t := tree.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%w: %w", taint.ErrCond, errNoBool)
	}
	program, err := env.Program(tree, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", taint.ErrCond, err)
	}
	return func(call flow.ToolCall, user []string) (bool, error) {
		args := map[string]any{}
		if call.Arguments != "" {
			if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
				return false, err
			}
		}
		out, _, err := program.Eval(map[string]any{"tool": call.Name, "args": args, "user": user})
		if err != nil {
			return false, err
		}
		b, ok := out.Value().(bool)
		if !ok {
			return false, errNoBool
		}
		return b, nil
	}, nil
}
