// Package hfilewriter writes HFiles (version 3.3) as HBase's own StoreFileWriter would, to the byte, and reads them
// back.
//
// A file is made in one pass, from cells in HBase's order, to an io.Writer:
//
//	w, err := hfilewriter.NewWriter(out, settings, stamp)
//	err = w.Append(&cell)                      // a cell at a time,
//	err = w.AppendRow(columns, row, ts, vals)  // or a row of Puts at a time: the same bytes, faster
//	summary, err := w.Close()
//
// and read from an io.ReaderAt:
//
//	r, err := hfilewriter.Open(in, size)
//	for s := r.Seek(row); s.Next(); { use(s.Cell()) }
//	report, err := r.Verify(nil)
//
// # File map
//
//	offset 0
//	  data blocks, with leaf-index and bloom-chunk blocks between them     encoding*.go, index.go, bloom.go
//	  intermediate-index blocks, if the root would be too big              index.go
//	  data index root, meta index root (empty)                             index.go
//	  file info                                                            fileinfo.go
//	  general bloom meta, delete-family bloom meta                         bloom.go
//	  trailer, 4,096 bytes                                                 trailer.go
//
// Every block is a 33-byte header, a payload that went through the file's codec, and checksums: block.go, codec.go.
// Blocks follow each other without gaps. docs/format/hfile.md draws the bytes.
//
// In each of these files a part's encoding and its parsing are next to each other, with the HBase class that they
// mirror. writer.go and row.go drive the encoding, reader.go, scanner.go and verify.go the parsing; layout.go describes
// a file for people.
//
// # Names
//
// A cell's "key" is what HBase calls the flat key: 2-byte row length, row, 1-byte family length, family, qualifier,
// 8-byte timestamp, 1-byte type. Integers are big-endian unless said otherwise.
package hfilewriter
