// Package monitor judges each token while a model writes it: sixteen features
// of the generation in a window of ten tokens, a logistic risk, and a zone.
package monitor
