package gateway_test

import (
	"testing"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/connectortest/gatewaytest"
)

func TestConformance(t *testing.T) {
	for _, api := range []*connectortest.API{connectortest.Chat(), connectortest.Responses(), connectortest.Messages()} {
		t.Run(api.Name, func(t *testing.T) {
			connectortest.Run(t, connectortest.Connector{Open: gatewaytest.Open}, api)
		})
	}
}

func FuzzConformance(f *testing.F) {
	connectortest.Fuzz(f, connectortest.Connector{Open: gatewaytest.Open}, connectortest.Chat(), connectortest.Responses(), connectortest.Messages())
}
