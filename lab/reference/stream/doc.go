// Package stream is the reference's copy of the product's scanner of streamed text,
// with the views that undo disguises. The kernel that cuts is the product's.
package stream
