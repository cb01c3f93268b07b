package memory

import (
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) (mediator.Store, func() mediator.Store) { return New(), nil })
}
