// Package api holds the documents of Margay's APIs.
package api

import _ "embed" // the document

// Console is the OpenAPI document of the console's API. go generate
// ./internal/app writes it from the types that the API answers with.
//
//go:embed openapi.json
var Console []byte
