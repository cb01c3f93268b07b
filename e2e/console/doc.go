// Package console tests the console in a real browser: every page with the
// data of a scripted run, live, by keyboard, with hostile content, in light
// and dark, on a desk and on a phone. It tests reports from a file.
// scripts/e2e-console runs it with everything that it needs, and takes the
// screenshots of docs/screenshots.
package console
