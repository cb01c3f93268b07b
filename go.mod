module github.com/margaydev/margay

go 1.26.0

require (
	github.com/dchest/siphash v1.2.3 // indirect
	golang.org/x/text v0.43.0 // indirect
)
