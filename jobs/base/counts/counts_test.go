package counts

import (
	"testing"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
)

// balanced are counts in which every number differs from the others.
func balanced() RowCounts {
	return RowCounts{Read: 1000, Written: 700, Rejected: 120, Duplicates: 150, Differing: 40, Filtered: 30, CellsWritten: 2050, Nulls: 50, Columns: 3, TableRows: 9}
}

// TestBooksBalance: each record is written, rejected, a duplicate or filtered, and each column of a written row is a
// cell or a null. One too many or too few of any of them is noticed.
func TestBooksBalance(t *testing.T) {
	if err := balanced().Check(); err != nil {
		t.Fatal(err)
	}
	for what, number := range map[string]func(*RowCounts) *int64{
		"read": func(b *RowCounts) *int64 { return &b.Read }, "written": func(b *RowCounts) *int64 { return &b.Written },
		"rejected": func(b *RowCounts) *int64 { return &b.Rejected }, "duplicates": func(b *RowCounts) *int64 { return &b.Duplicates },
		"filtered": func(b *RowCounts) *int64 { return &b.Filtered }, "cells": func(b *RowCounts) *int64 { return &b.CellsWritten },
		"nulls": func(b *RowCounts) *int64 { return &b.Nulls },
	} {
		for _, off := range []int64{-1, 1} {
			b := balanced()
			*number(&b) += off
			if err := b.Check(); failure.CodeOf(err) != errcode.Digest {
				t.Errorf("%s off by %d: %v", what, off, err)
			}
		}
	}
	b := balanced()
	if b.Columns++; b.Check() == nil {
		t.Error("another number of columns is not noticed")
	}
}

// TestSlicesAddUp: the counts of slices, in any order, are those of the whole.
func TestSlicesAddUp(t *testing.T) {
	slices := []Written{{Rows: 1, Duplicates: 20, Differing: 3, Cells: 4, Nulls: 5, TableRows: 6}, {}, {Rows: 700, Duplicates: 80, Differing: 90, Cells: 100, Nulls: 110, TableRows: 120}}
	want := RowCounts{Written: 701, Duplicates: 100, Differing: 93, CellsWritten: 104, Nulls: 115, TableRows: 126}
	var forth, back RowCounts
	for i := range slices {
		forth.Add(slices[i])
		back.Add(slices[len(slices)-1-i])
	}
	if forth != want || back != want {
		t.Errorf("%+v and %+v, want %+v", forth, back, want)
	}
}

// TestRegionsAddUp: what was added to a region can be subtracted again, as is done where a checkpoint is not used.
func TestRegionsAddUp(t *testing.T) {
	one := RegionCounts{Digest: digest.Sum{Cells: 3, Timed: 1 << 63, Timeless: 7}, Keys: 10, Bytes: 100}
	// sums go over 2^64
	other := RegionCounts{Digest: digest.Sum{Cells: 4, Timed: 1<<63 + 5, Timeless: 11}, Keys: 20, Bytes: 300}
	sum := one
	sum.Add(&other)
	if sum.Digest.Cells != 7 || sum.Keys != 30 || sum.Bytes != 400 || sum.Digest == one.Digest {
		t.Errorf("the sum is %+v", sum)
	}
	if sum.Sub(&other); sum != one {
		t.Errorf("%+v remains, want %+v", sum, one)
	}
}

// TestContentsOfFilesAddUp: the parts of a file that several goroutines have read are its content, whoever read which.
func TestContentsOfFilesAddUp(t *testing.T) {
	part := func(n int64) *Content {
		return &Content{Read: n, Rejected: 2 * n, Filtered: 3 * n, Digest: digest.Sum{Cells: 4 * n, Timed: uint64(5 * n), Timeless: uint64(6 * n)}}
	}
	left, right := Contents{}, Contents{}
	left.OfFile(0).Add(part(1))
	left.OfFile(7).Add(part(2))
	right.OfFile(7).Add(part(5))
	right.OfFile(3) // read, and empty
	left.Add(right)
	for file, want := range map[int]*Content{0: part(1), 3: part(0), 7: part(7)} {
		if got := left[file]; got == nil || *got != *want {
			t.Errorf("file %d: %+v, want %+v", file, got, want)
		}
	}
	if len(left) != 3 || *right[7] != *part(5) {
		t.Errorf("%d files; what was added is now %+v", len(left), right[7])
	}
}
