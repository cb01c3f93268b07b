package credal

import "github.com/margaydev/margay/rubric/dependency"

type (
	Graph    = dependency.Graph
	Variable = dependency.Variable
	Factor   = dependency.Factor
)
