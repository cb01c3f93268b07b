// Package answer mediates the answers of models, streamed and whole: it holds
// undecided text, decides, and releases.
//
// A streamed answer is one value, a [Stream], that is opened with everything
// that it needs to know. Its events are added in order and released in order;
// the findings of an event are committed before the event is released.
package answer
