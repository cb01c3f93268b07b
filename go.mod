module github.com/margaydev/margay

go 1.26
