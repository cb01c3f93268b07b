//go:build !race

package connectortest

const thinnest = 0
