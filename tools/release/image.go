package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// An OCI image layout is four kinds of JSON documents and a tar file. Their types come from the specification's own
// module, because the libraries that write one depend on registries and container engines.

// user is the user ID in the image: not a user of the host, and not root.
const user = 65532

// image is one platform's image: blobs by their digests, and the descriptor of its manifest.
type image struct {
	blobs    map[digest.Digest][]byte
	manifest v1.Descriptor
}

// add keeps a blob and returns its descriptor.
func (i *image) add(mediaType string, text []byte) v1.Descriptor {
	d := digest.FromBytes(text)
	i.blobs[d] = text
	return v1.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(text))}
}

func (i *image) addJSON(mediaType string, document any) (v1.Descriptor, error) {
	text, err := json.Marshal(document)
	return i.add(mediaType, text), err
}

// image makes the image of the files staged in root: one layer, with the program, its jobs and documents, and the parts
// of a system that programs rely on: /tmp, and a name for its user. It has no shell, no certificates and no other
// program.
func (r *release) image(p platform, root string) (image, error) {
	made := image{blobs: map[digest.Digest][]byte{}}
	layer, err := r.layer(root)
	if err != nil {
		return image{}, err
	}
	packed, err := compressed(layer)
	if err != nil {
		return image{}, err
	}
	config, err := made.addJSON(v1.MediaTypeImageConfig, v1.Image{
		Created:  &r.time,
		Platform: v1.Platform{OS: p.os, Architecture: p.arch},
		Config: v1.ImageConfig{Entrypoint: []string{"/" + programPath}, Cmd: []string{"help"},
			User: fmt.Sprintf("%d:%d", user, user), WorkingDir: "/work",
			Env: []string{"HADOOP_CONF_DIR=/etc/hadoop/conf", "HBASE_CONF_DIR=/etc/hbase/conf"}, StopSignal: "SIGTERM",
			Labels: map[string]string{v1.AnnotationVersion: r.version, v1.AnnotationLicenses: "Apache-2.0",
				v1.AnnotationTitle: "bulkload"}},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(layer)}},
	})
	if err != nil {
		return image{}, err
	}
	made.manifest, err = made.addJSON(v1.MediaTypeImageManifest, v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: v1.MediaTypeImageManifest, Config: config,
		Layers: []v1.Descriptor{made.add(v1.MediaTypeImageLayerGzip, packed)}})
	made.manifest.Platform = &v1.Platform{OS: p.os, Architecture: p.arch}
	return made, err
}

// layer is the tar file of the image's only layer.
func (r *release) layer(root string) ([]byte, error) {
	files, err := tarOf(root, r.time, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, folder := range []tar.Header{{Name: "tmp/", Mode: 0o1777}, {Name: "work/", Mode: 0o755, Uid: user, Gid: user}} {
		folder.Typeflag, folder.ModTime, folder.Format = tar.TypeDir, r.time, tar.FormatUSTAR
		if err := w.WriteHeader(&folder); err != nil {
			return nil, err
		}
	}
	passwd := fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nbulkload:x:%d:%d:bulkload:/work:/sbin/nologin\n", user, user)
	if err := addBytes(w, "etc/passwd", 0o644, r.time, []byte(passwd)); err != nil {
		return nil, err
	}
	if err := w.Flush(); err != nil { // not the end of the tar file: the files follow
		return nil, err
	}
	return append(b.Bytes(), files...), nil
}

// writeImages writes the layout of all images as one tar file, which "skopeo copy oci-archive:FILE", podman load and
// ctr image import can read.
func (r *release) writeImages(images []image) error {
	all := image{blobs: map[digest.Digest][]byte{}}
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex}
	for _, i := range images {
		index.Manifests = append(index.Manifests, i.manifest)
		for d, text := range i.blobs {
			all.blobs[d] = text
		}
	}
	inner, err := all.addJSON(v1.MediaTypeImageIndex, index)
	if err != nil {
		return err
	}
	inner.Annotations = map[string]string{v1.AnnotationRefName: strings.TrimPrefix(r.version, "v")}
	outer, err := json.Marshal(v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex,
		Manifests: []v1.Descriptor{inner}})
	if err != nil {
		return err
	}
	layout, err := json.Marshal(v1.ImageLayout{Version: v1.ImageLayoutVersion})
	if err != nil {
		return err
	}
	dir := filepath.Join(r.work, "layout")
	files := map[string][]byte{v1.ImageLayoutFile: layout, v1.ImageIndexFile: outer}
	for d, text := range all.blobs {
		files[filepath.Join(v1.ImageBlobsDir, string(d.Algorithm()), d.Encoded())] = text
	}
	for name, text := range files {
		if err := writeFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	text, err := tarOf(dir, r.time, func(name string) string { return name })
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(r.out, fmt.Sprintf("bulkload_%s_image.tar", strings.TrimPrefix(r.version, "v"))), text)
}
