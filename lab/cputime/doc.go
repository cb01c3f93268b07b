// Package cputime reads the processor time that this process has used.
package cputime
